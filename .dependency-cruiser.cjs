// The floors of docs/architecture.md, as rules. `npm run floors` fails on an import that the table does not have.
// Specs are free: a test may reach for any floor.
const SRC = '^libs/rate-limit/src/';
const NEST_FILES =
  '\\.(module|module-definition|decorator|providers|constants|options|service)\\.ts$';
const NEST_PACKAGES = ['@nestjs/(common|core)', 'rxjs', 'reflect-metadata'];

/** `path`: the files of a floor. `uses`: what they may import inside. `packages`, `node`: and outside. */
const floors = [
  { name: 'core', path: 'core/', uses: ['core/'], node: ['crypto'] },
  { name: 'store-port', path: 'store/[^/]+\\.ts$', uses: ['core/', 'store/[^/]+\\.ts$'] },
  ...['memory', 'redis', 'resilient', 'near'].map((store) => ({
    name: `store-${store}`,
    path: `store/${store}/`,
    // Where the shared store is out, `local` limits in this process' memory.
    uses: ['core/', 'store/[^/]+\\.ts
    packages: store === 'redis' ? ['ioredis'] : [],
    node: ['crypto'],
  })),
  {
    name: 'limiter',
    path: 'limiter/',
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/'],
    node: ['events'],
  },
  { name: 'http', path: 'http/', uses: ['core/', 'http/'], node: ['net'] },
  {
    name: 'queue',
    path: 'queue/',
    except: NEST_FILES,
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'queue/'],
    packages: ['bullmq'],
    node: ['crypto', 'events'],
  },
  {
    name: 'queue-nest-files',
    path: `queue/.*${NEST_FILES}`,
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'queue/', 'nest/'],
    packages: ['bullmq', ...NEST_PACKAGES],
  },
  {
    name: 'nest',
    path: 'nest/',
    except: '\\.providers\\.ts$',
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'http/', 'nest/'],
    packages: NEST_PACKAGES,
  },
  {
    name: 'nest-providers',
    path: 'nest/.*\\.providers\\.ts$',
    uses: ['core/', 'store/', 'limiter/', 'http/', 'nest/'],
    packages: NEST_PACKAGES,
  },
  {
    name: 'throttler',
    path: 'throttler/',
    uses: ['core/', 'store/', 'limiter/', 'nest/', 'throttler/'],
    packages: ['@nestjs/throttler', ...NEST_PACKAGES],
  },
  {
    name: 'testing',
    path: 'testing/',
    uses: ['core/', 'store/', 'limiter/', 'nest/', 'testing/'],
    packages: ['@nestjs/testing', ...NEST_PACKAGES],
  },
  // The main entry: nobody pays there for a peer of another entry.
  { name: 'index', path: 'index\\.ts$', uses: ['core/', 'store/', 'limiter/', 'http/', 'nest/'] },
];

function floorRule({ name, path, except, uses, packages = [], node = [] }) {
  const inside = uses.map((use) => SRC + use);
  const outside = packages.map((used) => `(^|/)node_modules/${used}/`);
  const builtin = node.map((module) => `^(node:)?${module}$`);
  return {
    name: `floor-${name}`,
    comment: `docs/architecture.md, the floors: what ${path} may import`,
    severity: 'error',
    from: { path: SRC + path, ...(except && { pathNot: except }) },
    to: { pathNot: [...inside, ...outside, ...builtin] },
  };
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...floors.map(floorRule),
    {
      name: 'no-file-without-floor',
      comment:
        'Every file of the library belongs to a floor of the table; a new room needs a line there.',
      severity: 'error',
      from: { path: SRC, pathNot: floors.map(({ path }) => SRC + path) },
      to: {},
    },
    {
      name: 'no-cycle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'Imported by nobody and importing nobody: left over, or not wired in yet.',
      severity: 'error',
      from: { orphan: true, pathNot: ['/index\\.ts$', '^apps/demo/src/main\\.ts$'] },
      to: {},
    },
    {
      name: 'apps-use-the-public-entries',
      severity: 'error',
      from: { path: '^apps/' },
      to: { path: SRC, pathNot: `${SRC}((queue|testing|throttler)/)?index\\.ts$` },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // Type imports count: a floor that only names another's types depends on it all the same.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.spec\\.ts$' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'default'],
    },
  },
};
, `store/${store}/`, ...(store === 'resilient' ? ['store/memory/'] : [])],
    packages: store === 'redis' ? ['ioredis'] : [],
    node: ['crypto'],
  })),
  {
    name: 'limiter',
    path: 'limiter/',
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/'],
    node: ['events'],
  },
  { name: 'http', path: 'http/', uses: ['core/', 'http/'], node: ['net'] },
  {
    name: 'queue',
    path: 'queue/',
    except: NEST_FILES,
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'queue/'],
    packages: ['bullmq'],
    node: ['crypto', 'events'],
  },
  {
    name: 'queue-nest-files',
    path: `queue/.*${NEST_FILES}`,
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'queue/', 'nest/'],
    packages: ['bullmq', ...NEST_PACKAGES],
  },
  {
    name: 'nest',
    path: 'nest/',
    except: '\\.providers\\.ts$',
    uses: ['core/', 'store/[^/]+\\.ts$', 'limiter/', 'http/', 'nest/'],
    packages: NEST_PACKAGES,
  },
  {
    name: 'nest-providers',
    path: 'nest/.*\\.providers\\.ts$',
    uses: ['core/', 'store/', 'limiter/', 'http/', 'nest/'],
    packages: NEST_PACKAGES,
  },
  {
    name: 'throttler',
    path: 'throttler/',
    uses: ['core/', 'store/', 'limiter/', 'nest/', 'throttler/'],
    packages: ['@nestjs/throttler', ...NEST_PACKAGES],
  },
  {
    name: 'testing',
    path: 'testing/',
    uses: ['core/', 'store/', 'limiter/', 'nest/', 'testing/'],
    packages: ['@nestjs/testing', ...NEST_PACKAGES],
  },
  // The main entry: nobody pays there for a peer of another entry.
  { name: 'index', path: 'index\\.ts$', uses: ['core/', 'store/', 'limiter/', 'http/', 'nest/'] },
];

function floorRule({ name, path, except, uses, packages = [], node = [] }) {
  const inside = uses.map((use) => SRC + use);
  const outside = packages.map((used) => `(^|/)node_modules/${used}/`);
  const builtin = node.map((module) => `^(node:)?${module}$`);
  return {
    name: `floor-${name}`,
    comment: `docs/architecture.md, the floors: what ${path} may import`,
    severity: 'error',
    from: { path: SRC + path, ...(except && { pathNot: except }) },
    to: { pathNot: [...inside, ...outside, ...builtin] },
  };
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...floors.map(floorRule),
    {
      name: 'no-file-without-floor',
      comment:
        'Every file of the library belongs to a floor of the table; a new room needs a line there.',
      severity: 'error',
      from: { path: SRC, pathNot: floors.map(({ path }) => SRC + path) },
      to: {},
    },
    {
      name: 'no-cycle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'Imported by nobody and importing nobody: left over, or not wired in yet.',
      severity: 'error',
      from: { orphan: true, pathNot: ['/index\\.ts$', '^apps/demo/src/main\\.ts$'] },
      to: {},
    },
    {
      name: 'apps-use-the-public-entries',
      severity: 'error',
      from: { path: '^apps/' },
      to: { path: SRC, pathNot: `${SRC}((queue|testing|throttler)/)?index\\.ts$` },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // Type imports count: a floor that only names another's types depends on it all the same.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '\\.spec\\.ts$' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['require', 'node', 'types', 'default'],
    },
  },
};
