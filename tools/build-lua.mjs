#!/usr/bin/env node
// Turns the Lua scripts into TypeScript constants, so that the library needs no file access and no asset copying.
//   node tools/build-lua.mjs           writes lua.generated.ts beside each lua/ folder
//   node tools/build-lua.mjs --check   writes nothing; fails when a generated file is not what would be written
//   --root DIR                         another repository root (for the tests)
// Lines of a script that mean something here:
//   -- @include lib/now           the text of lib/now.lua of the same lua/ folder, once a script however often named
//   -- @include store:lib/now     the same file, from any folder: `store:` and `queue:` name the lua/ folders
//   -- @keys 1                    the script takes exactly so many KEYS; without this line, the caller says how many
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const rootFlag = process.argv.indexOf('--root');
const root =
  rootFlag > 0 ? process.argv[rootFlag + 1] : join(dirname(fileURLToPath(import.meta.url)), '..');
const folders = {
  store: join(root, 'libs/rate-limit/src/store/redis/lua'),
  queue: join(root, 'libs/rate-limit/src/queue/lua'),
};

/** Reads a file and pastes its includes. `above`: the files being read; `seen`: all that are in already. */
function expand(file, folder, above, seen) {
  const chain = [...above, file];
  seen.add(file);
  return readFileSync(file, 'utf8').replace(/^[ \t]*--[ \t]*@include\b(.*)$/gm, (line, what) => {
    const [, name = folder, target] = /^(?:(\w+):)?([\w/]+)$/.exec(what.trim()) ?? [];
    const included = target && folders[name] && resolve(folders[name], `${target}.lua`);
    if (!included || !existsSync(included)) {
      throw new Error(`${short(file)}: unknown include: ${line.trim()}`);
    }
    if (chain.includes(included)) {
      throw new Error(`circular include: ${[...chain, included].map(short).join(' -> ')}`);
    }
    return seen.has(included) ? '' : expand(included, name, chain, seen);
  });
}

/** Drops comments (not inside strings), trailing blanks and empty lines: the servers get the code alone. */
function strip(lua) {
  const tokens = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|--\[\[[^]*?\]\]|--.*|\[\[[^]*?\]\]/g;
  const code = lua.replace(tokens, (token) => (token.startsWith('--') ? '' : token));
  return (
    code
      .replace(/[ \t]+$/gm, '')
      .replace(/\n{2,}/g, '\n')
      .trim() + '\n'
  );
}

function constant(folder, fileName) {
  const file = join(folders[folder], fileName);
  const lua = strip(expand(file, folder, [], new Set()));
  const word = fileName
    .slice(0, -'.lua'.length)
    .replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  const sha1 = createHash('sha1').update(lua).digest('hex');
  const keys = /^--[ \t]*@keys[ \t]+(\d+)[ \t]*$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 'null';
  // The digest in the name: another version of the script never meets this one on a shared client.
  const name = `rl${word[0].toUpperCase()}${word.slice(1)}_${sha1.slice(0, 8)}`;
  const literal = lua.replace(/[\\`]|\$\{/g, '\\$&');
  return `export const ${word} = {\n  name: '${name}',\n  sha1: '${sha1}',\n  keys: ${keys},\n  lua: \`${literal}\`,\n} as const;\n`;
}

function short(file) {
  return relative(root, file);
}

const head =
  '// Generated from lua/*.lua by tools/build-lua.mjs (`npm run build:lua`). Edit those, not this.\n';
try {
  for (const folder of Object.keys(folders).filter((name) => existsSync(folders[name]))) {
    const scripts = readdirSync(folders[folder])
      .filter((name) => name.endsWith('.lua'))
      .sort();
    const target = join(folders[folder], '../lua.generated.ts');
    const text = [head, ...scripts.map((name) => constant(folder, name))].join('\n');
    if (!process.argv.includes('--check')) writeFileSync(target, text);
    else if (!existsSync(target) || readFileSync(target, 'utf8') !== text)
      throw new Error(`${short(target)} is stale: run npm run build:lua`);
  }
} catch (error) {
  console.error(`build-lua: ${error.message}`);
  process.exitCode = 1;
}
