// docs/testing.md, run: each of its blocks is a test file of its own.
import { compileFunction } from 'node:vm';
import ts from 'typescript';
import { snippets } from './support/snippets';

const runner = { describe, it, expect };
const blocks = snippets().filter(({ place }) => place.startsWith('docs/testing.md'));

for (const { place, code } of blocks) {
  describe(place, () => {
    const compilerOptions = {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2022,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      esModuleInterop: true,
    };
    const { outputText } = ts.transpileModule(code, { compilerOptions, fileName: place });
    const run = compileFunction(outputText, ['require', 'exports', ...Object.keys(runner)]);
    // Jest's require, so that the block gets the sources of the library.
    (run as (...args: unknown[]) => void)(require, {}, ...Object.values(runner));
  });
}

it('has a block for each part of the kit', () => expect(blocks.length).toBe(5));
