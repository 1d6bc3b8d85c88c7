// The documentation, tried out: every block of TypeScript compiles, and the README's first example runs and answers
// as the README says.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, sharedRedisUrl } from '../libs/rate-limit/test/support/redis-server';
import { ROOT, RunningCommand } from './support/process';
import { type Snippet, SnippetProgram, snippets } from './support/snippets';

const COMPILE_MS = 120_000;

jest.setTimeout(COMPILE_MS);

describe('the documentation', () => {
  const all = snippets();
  let program: SnippetProgram;

  beforeAll(() => {
    program = new SnippetProgram(all);
  });

  it('has TypeScript that compiles', () => {
    expect(all.length).toBeGreaterThan(5);
    expect(program.errors).toEqual([]);
  });

  it('has a compiler that would notice', () => {
    const wrong = [
      { place: 'wrong.md:1', code: "RateLimitModule.forRoot({ rediss: 'redis://localhost' });\n" },
      { place: 'wrong.md:2', code: 'limiterr.consume();\n' },
    ];
    expect(new SnippetProgram(wrong).errors).toHaveLength(2);
  });

  it('links to files and headings that exist', () => {
    const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
    const dead = pages
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) =>
        [...read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].flatMap(([, link]) => {
          const [path, heading] = link.split('#');
          const target = path === '' ? page : join(dirname(page), path);
          const isThere = existsSync(join(ROOT, target));
          return isThere && (heading === undefined || headings(target).includes(heading))
            ? []
            : [`${page}: ${link}`];
        }),
      );
    expect(dead).toEqual([]);
  });

  describe('the first example', () => {
    let directory: string;
    let command: RunningCommand;
    let url: string;

    beforeAll(async () => {
      directory = temporaryBuild();
      const [example] = all.filter(({ place }: Snippet) => place.startsWith('README.md'));
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      command = new RunningCommand(process.execPath, [program.emit(example, directory)], {
        PORT: `${port}`,
        REDIS_URL: sharedRedisUrl(),
        NODE_OPTIONS: undefined,
      });
      while (!(await fetch(`${url}/hello`, { method: 'OPTIONS' }).catch(() => undefined))) {
        await delay(50);
      }
    });
    afterAll(async () => {
      await command?.stop();
      rmSync(directory, { recursive: true, force: true });
    });

    it('answers as the README shows', async () => {
      const [admitted, refused] = shownAnswers();
      const answers = [];
      while (answers.length < 4) answers.push(await fetch(`${url}/hello`));

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
      expect(await onTheWire(answers[0], admitted)).toEqual(admitted);
      expect(await onTheWire(answers[3], refused)).toEqual(refused);
    });
  });
});

/** Inside the repository, so that the packages are found; in dist/, so that nobody commits it. */
function temporaryBuild(): string {
  mkdirSync(join(ROOT, 'dist'), { recursive: true });
  return mkdtempSync(join(ROOT, 'dist/readme-'));
}

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** The anchors of a page, as GitHub makes them. */
function headings(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, text]) =>
    text
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/ /g, '-'),
  );
}

/** A response as the README prints it: the status line, some headers, the body. */
interface Shown {
  readonly status: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function shownAnswers(): Shown[] {
  return [...read('README.md').matchAll(/^```http\n(.*?)^```$/gms)].map(([, text]) => {
    const [head, body] = text.split('\n\n');
    const [status, ...lines] = head.split('\n');
    const headers = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
    return { status, headers: Object.fromEntries(headers), body: body.trim() };
  });
}

async function onTheWire(response: Response, { headers }: Shown): Promise<Shown> {
  const names = Object.keys(headers);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: `HTTP/1.1 ${response.status} ${response.statusText}`,
    headers: Object.fromEntries(names.map((name) => [name, response.headers.get(name) ?? ''])),
    body: isJson ? JSON.stringify(JSON.parse(text), null, 2) : text,
  };
}
