// Which tests exist and how they are compiled. One Jest project per kind of test; the kinds of library tests
// are the folders of libs/rate-limit/test, so a new folder is a new project and nothing is left out.
const { existsSync, readdirSync } = require('node:fs');
const path = require('node:path');

// Nest 12 ships ES modules, which Jest can't require() on Node < 24.9: SWC turns them into CommonJS.
const swc = (syntax) => [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: 'inline',
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser:
        syntax === 'ts' ? { syntax: 'typescript', decorators: true } : { syntax: 'ecmascript' },
      transform: syntax === 'ts' ? { legacyDecorator: true, decoratorMetadata: true } : {},
    },
    module: { type: 'commonjs' },
  },
];

const base = {
  rootDir: __dirname,
  testEnvironment: 'node',
  transform: { '\\.ts$': swc('ts'), '\\.js$': swc('js') },
  transformIgnorePatterns: ['/node_modules/(?!(@nestjs/|@fastify/static/|content-disposition/))'],
  // The same names as `paths` in tsconfig.json.
  moduleNameMapper: {
    '^nest-rate-limit$': '<rootDir>/libs/rate-limit/src/index.ts',
    '^nest-rate-limit/(queue|testing|throttler)$': '<rootDir>/libs/rate-limit/src/$1/index.ts',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/libs/[^/]+/dist'],
  coveragePathIgnorePatterns: ['/node_modules/', '\\.spec\\.ts$'],
};

// support/ holds no tests of its own; types/ is checked by the compiler. timing/ judges real time to the
// millisecond, which wants a quiet machine: `npm run test:timing` runs it, and only it.
const timing = process.env.TEST_TIMING === '1';
const isProject = (folder) =>
  timing ? folder === 'timing' : !['support', 'types', 'timing'].includes(folder);

function libraryTestFolders() {
  const tests = path.join(__dirname, 'libs/rate-limit/test');
  if (!existsSync(tests)) return [];
  return readdirSync(tests, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && isProject(entry.name))
    .map((entry) => entry.name);
}

/** @type {import('jest').Config} */
module.exports = {
  collectCoverageFrom: ['libs/*/src/**/*.ts'],
  coverageDirectory: 'coverage',
  // Tests with real servers and deadlines want cores to spare.
  maxWorkers: '50%',
  // A connection that a test left open says so in the log, but must not keep the run from ending.
  forceExit: true,
  // Real servers start within seconds; on a busy machine within tens of them.
  testTimeout: 30_000,
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/libs/*/src/**/*.spec.ts', '<rootDir>/apps/*/src/**/*.spec.ts'],
    },
    ...libraryTestFolders().map((folder) => ({
      ...base,
      displayName: folder,
      testMatch: [`<rootDir>/libs/rate-limit/test/${folder}/**/*.spec.ts`],
    })),
    { ...base, displayName: 'tools', testMatch: ['<rootDir>/tools/**/*.spec.ts'] },
    { ...base, displayName: 'e2e', testMatch: ['<rootDir>/test/**/*.e2e-spec.ts'] },
  ],
};
