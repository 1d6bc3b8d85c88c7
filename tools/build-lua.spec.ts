// build-lua over scratch folders: what is pasted, what is dropped, and what stops the build.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const STORE = 'libs/rate-limit/src/store/redis';
const QUEUE = 'libs/rate-limit/src/queue';
let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'build-lua-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

function build(...args: string[]): { status: number | null; stderr: string } {
  const script = join(__dirname, 'build-lua.mjs');
  return spawnSync(process.execPath, [script, '--root', root, ...args], { encoding: 'utf8' });
}

function generated(folder: string): string {
  return readFileSync(join(root, folder, 'lua.generated.ts'), 'utf8');
}

it('pastes each include once, also when two includes name it', () => {
  write({
    [`${STORE}/lua/take_one.lua`]:
      '-- Takes one.\n-- @keys 1\n-- @include lib/a\n-- @include lib/b\nreturn a() + b()\n',
    [`${STORE}/lua/lib/a.lua`]: '-- @include lib/c\nlocal function a() return c end\n',
    [`${STORE}/lua/lib/b.lua`]: '-- @include lib/c\nlocal function b() return c end\n',
    [`${STORE}/lua/lib/c.lua`]: 'local c = 1 -- the one\n',
  });
  expect(build()).toMatchObject({ status: 0, stderr: '' });
  expect(generated(STORE)).toContain('export const takeOne = {');
  expect(generated(STORE)).toContain('  keys: 1,\n');
  expect(generated(STORE)).toContain(
    '`local c = 1\nlocal function a() return c end\nlocal function b() return c end\nreturn a() + b()\n`',
  );
});

it('reaches the other folder by its name, and looks up nested includes there', () => {
  write({
    [`${QUEUE}/lua/book.lua`]: '-- @include store:lib/a\nreturn a\n',
    [`${STORE}/lua/lib/a.lua`]: '-- @include lib/b\nlocal a = b\n',
    [`${STORE}/lua/lib/b.lua`]: 'local b = 2\n',
  });
  expect(build().status).toBe(0);
  expect(generated(QUEUE)).toContain('`local b = 2\nlocal a = b\nreturn a\n`');
  expect(generated(QUEUE)).toContain('  keys: null,\n');
});

it('keeps strings that look like comments, and escapes what a template literal would read', () => {
  write({
    [`${STORE}/lua/odd.lua`]:
      'local s = "--[[ kept" .. \'-- kept\' --[[ gone\ngone ]]\n\nreturn s .. "`${x}\\n"\n',
  });
  expect(build().status).toBe(0);
  const [, literal] = /lua: `((?:\\.|[^`\\])*)`/.exec(generated(STORE)) ?? [];
  expect(literal).toBe('local s = "--[[ kept" .. \'-- kept\'\nreturn s .. "\\`\\${x}\\\\n"\n');
});

it('stops at an unknown include, naming the file and the line', () => {
  write({ [`${STORE}/lua/x.lua`]: '-- @include lib/nowhere\n' });
  expect(build()).toMatchObject({
    status: 1,
    stderr: `build-lua: ${STORE}/lua/x.lua: unknown include: -- @include lib/nowhere\n`,
  });
  write({ [`${STORE}/lua/x.lua`]: '-- @include elsewhere:lib/a\n' });
  expect(build().stderr).toContain('unknown include: -- @include elsewhere:lib/a');
});

it('stops at a circular include, naming the circle', () => {
  write({
    [`${STORE}/lua/x.lua`]: '-- @include lib/a\n',
    [`${STORE}/lua/lib/a.lua`]: '-- @include lib/b\n',
    [`${STORE}/lua/lib/b.lua`]: '-- @include lib/a\n',
  });
  expect(build()).toMatchObject({ status: 1 });
  expect(build().stderr).toContain('lua/lib/a.lua -> ');
});

it('--check writes nothing, and fails on a missing or stale file', () => {
  write({ [`${STORE}/lua/x.lua`]: 'return 1\n' });
  expect(build('--check').stderr).toContain('lua.generated.ts is stale: run npm run build:lua');
  expect(build().status).toBe(0);
  expect(build('--check').status).toBe(0);
  write({ [`${STORE}/lua/x.lua`]: 'return 2\n' });
  const before = generated(STORE);
  expect(build('--check').status).toBe(1);
  expect(generated(STORE)).toBe(before);
});
