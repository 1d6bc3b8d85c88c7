// The TypeScript in the documentation: found in the Markdown, checked by the compiler, and built so that it can run.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { ROOT } from './process';

/** A block of TypeScript in a Markdown file. */
export interface Snippet {
  /** `README.md:12` */
  readonly place: string;
  readonly code: string;
}

/** A snippet may leave out what it imports from these, unless it stands first on its page. */
const USUAL_IMPORTS = [
  'nest-rate-limit',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
];
const BLOCK = /^```ts\n(.*?)^```$/gms;

/** All blocks that are marked `ts`, in the README and in docs/. */
export function snippets(): Snippet[] {
  const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];
  return pages
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(ROOT, page), 'utf8');
      return [...text.matchAll(BLOCK)].map(({ 1: code, index }) => ({
        place: `${page}:${text.slice(0, index).split('\n').length}`,
        code,
      }));
    });
}

/** Compiles snippets against the sources of the library, as a file of the repository would be. */
export class SnippetProgram {
  readonly #program: ts.Program;
  readonly #files: Map<string, string>;

  constructor(all: readonly Snippet[]) {
    const probe = programOf(new Map([[fileOf('probe'), USUAL_IMPORTS.map(asImport).join('')]]));
    const exported = exportsOf(probe);
    this.#files = new Map(
      all.map(({ place, code }) => [fileOf(place), `${missingImports(code, exported)}\n${code}`]),
    );
    this.#program = programOf(this.#files, probe);
  }

  /** What the compiler finds wrong, with the places in the documentation. */
  get errors(): string[] {
    return [...this.#files.keys()].flatMap((file) => {
      const source = this.#program.getSourceFile(file);
      return ts.getPreEmitDiagnostics(this.#program, source).map(({ messageText, start = 0 }) => {
        const text = ts.flattenDiagnosticMessageText(messageText, ' ');
        const line = this.#files.get(file)?.slice(0, start).split('\n').length ?? 0;
        return `${relative(ROOT, file)}, line ${line - 1} of the block: ${text}`;
      });
    });
  }

  /** A snippet as JavaScript that `require`s what it needs, with the imports that it left out. */
  script({ place }: Snippet): string {
    const { compilerOptions } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) =>
      ts.sys.readFile(path),
    ).config as { compilerOptions: object };
    const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, ROOT);
    const module = ts.ModuleKind.CommonJS;
    return ts.transpileModule(this.#files.get(fileOf(place)) as string, {
      compilerOptions: { ...options, module },
    }).outputText;
  }

  /** Writes a snippet and the library as JavaScript into `directory`; returns the file to run. */
  emit({ place }: Snippet, directory: string): string {
    this.#program.emit(undefined, (path, text) => {
      const target = join(directory, relative(ROOT, path));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, text);
    });
    const installed = join(directory, 'node_modules/nest-rate-limit');
    mkdirSync(installed, { recursive: true });
    const library = join(directory, 'libs/rate-limit/src/index.js');
    writeFileSync(join(installed, 'index.js'), `module.exports = require('${library}');\n`);
    return join(directory, relative(ROOT, fileOf(place))).replace(/\.ts$/, '.js');
  }
}

/** Where the compiler is told that a snippet stands. */
function fileOf(place: string): string {
  return join(ROOT, 'test/snippets', `${place.replace(/\W+/g, '-')}.ts`);
}

function asImport(module: string, index: number): string {
  return `import * as m${index} from '${module}';\nvoid m${index};\n`;
}

/** Name -> module, of everything that the usual modules export. */
function exportsOf(program: ts.Program): Map<string, string> {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(fileOf('probe')) as ts.SourceFile;
  const imports = source.statements.filter(ts.isImportDeclaration);
  return new Map(
    imports.reverse().flatMap(({ moduleSpecifier }) => {
      const module = checker.getSymbolAtLocation(moduleSpecifier);
      if (module === undefined) return [];
      const name = (moduleSpecifier as ts.StringLiteral).text;
      return checker.getExportsOfModule(module).map((symbol) => [symbol.name, name] as const);
    }),
  );
}

/** Imports for the names that a snippet uses and neither imports nor declares. */
function missingImports(code: string, exported: ReadonlyMap<string, string>): string {
  const plain = code.replace(/\/\/.*|'(?:\\.|[^'\n])*'|`[^`]*`/g, '');
  const known = new Set(
    [...plain.matchAll(/\b(?:class|const|function|interface|type)\s+(\w+)/g)].map(([, n]) => n),
  );
  const imported = /^import\b[^;]*;/gms.exec(plain)?.input.match(/^import\b[^;]*;/gms) ?? [];
  const has = (name: string) => imported.some((line) => new RegExp(`\\b${name}\\b`).test(line));
  const names = new Set(plain.match(/(?<![.\w])[A-Za-z]\w+(?!\s*:)/g));
  return [...names]
    .filter((name) => exported.has(name) && !known.has(name) && !has(name))
    .map((name) => `import { ${name} } from '${exported.get(name)}';`)
    .join(' ');
}

function programOf(files: ReadonlyMap<string, string>, before?: ts.Program): ts.Program {
  const config = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.convertCompilerOptionsFromJson(
    { ...config.config.compilerOptions, isolatedModules: false, declaration: false },
    ROOT,
  );
  const host = ts.createCompilerHost({ ...options, noEmit: false });
  const readFile = host.readFile.bind(host);
  const fileExists = host.fileExists.bind(host);
  const getSourceFile = host.getSourceFile.bind(host);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile(path, language, ...rest)
      : ts.createSourceFile(path, text, language);
  };
  return ts.createProgram(
    [...files.keys()],
    { ...options, outDir: undefined, sourceMap: false },
    host,
    before,
  );
}
