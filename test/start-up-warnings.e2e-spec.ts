// No false alarms: the demo and every example of the README start, and answer, without a warning.
import { Controller, Get, Logger, type ModuleMetadata, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { ADAPTERS, RunningDemo } from './support/demo';
import { type Snippet, SnippetProgram, snippets } from './support/snippets';

jest.setTimeout(120_000);

let warnings: string[];
beforeEach(() => {
  warnings = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => {
    warnings.push(line);
  });
});
afterEach(() => jest.restoreAllMocks());

describe.each(ADAPTERS)('the demo on %s', (adapter) => {
  it.each([
    ['with Redis', {}],
    ['without', { redisUrl: undefined }],
  ])('%s', async (_, settings) => {
    const demo = await RunningDemo.start({ adapter, ...settings });
    for (const path of ['/health', '/me', '/weather/oslo', '/radar', '/']) {
      for (const key of [undefined, 'free-key', 'pro-key']) await demo.repeat(8, path, { key });
    }
    await demo.stop();
    expect(warnings).toEqual([]);
  });
});

describe('the README', () => {
  const all = snippets().filter(({ place }) => place.startsWith('README.md'));
  const program = new SnippetProgram(all);

  it.each(all.map((snippet) => [snippet.place, snippet] as const))('%s', async (_, snippet) => {
    const module = await Test.createTestingModule(applicationOf(program, snippet)).compile();
    const app = module.createNestApplication({ logger: false });
    await app.init();
    await app.close();
    expect(warnings).toEqual([]);
  });

  it('has examples that would be noticed', async () => {
    const [hello] = all;
    const { imports, controllers } = applicationOf(program, hello);
    expect([imports?.length, controllers?.length]).toEqual([1, 0]);
    const parts = all.map((each) => applicationOf(program, each));
    expect(parts.filter((each) => each.controllers?.length !== 0).length).toBeGreaterThan(3);
  });
});

/** What a snippet shows, in the application that it leaves to the reader. */
function applicationOf(program: SnippetProgram, snippet: Snippet): ModuleMetadata {
  const { classes, module } = evaluated(program, snippet);
  const modules = classes.filter((each) => Reflect.hasMetadata('imports', each));
  const controllers = classes.filter((each) => Reflect.hasMetadata('path', each));
  const guard = { provide: APP_GUARD, useClass: RateLimitGuard };
  if (modules.length > 0) {
    const hasGuard = modules.some((each) =>
      JSON.stringify(Reflect.getMetadata('providers', each) ?? []).includes(APP_GUARD),
    );
    return { imports: modules, controllers: [], providers: hasGuard ? [] : [guard] };
  }
  const limits = module ?? RateLimitModule.forRoot({ policies: { search: { rate: 10 } } });
  return {
    imports: [limits as Type],
    controllers: module === undefined ? controllers : [Undecorated],
    providers: [guard],
  };
}

@Controller()
class Undecorated {
  @Get()
  get() {
    return 'ok';
  }
}

function evaluated(program: SnippetProgram, snippet: Snippet) {
  const names = [...snippet.code.matchAll(/^(?:export )?class (\w+)/gm)].map(([, name]) => name);
  const script = program
    .script(snippet)
    .replace(/^void .*NestFactory.*$/m, '')
    .replace(/^\S*RateLimitModule\.forRoot\(/m, (start) => `found.module = ${start}`);
  const found: { classes: Type[]; module?: unknown } = { classes: [] };
  // oxlint-disable-next-line typescript/no-implied-eval -- it is our own documentation
  const run = new Function(
    'require',
    'exports',
    'found',
    `${script}\nfound.classes = [${names.join()}];`,
  );
  run(require, {}, found);
  return found;
}
