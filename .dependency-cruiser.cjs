// The floors of docs/architecture.md, as rules. `npm run floors` fails on an import that the table does not have.
// Specs are free: a test may reach for any floor.
const SRC = '^libs/rate-limit/src/';
const ENTRY = `${SRC}((queue|testing|throttler)/)?index\\.ts$`;
const DEMO = '^apps/demo/src/main\\.ts$';
// Files directly in store/: the port and its words.
const PORT = 'store/[^/]+\\.ts$';
const NEST_FILES =
  '\\.(module|module-definition|controller|decorator|providers|constants|options|service)\\.ts$';
// Of queue/, what needs no BullMQ: words, checks, and the life of a queue in an application.
const QUEUE_FACE =
  'queue/(queue-face|deferrals\\.service|ticket|ending|queue-errors|refusal|lane|queue-limits|queue-options|submission-checks|whole-number|rate-limit-queue\\.constants|processors\\.service|open-queues\\.service|registered-queue\\.service)\\.ts$';
const NEST_PACKAGES = ['@nestjs/(common|core)', 'rxjs', 'reflect-metadata'];

/** `path`: the files of a floor. `uses`: what they may import inside. `packages`, `node`: and outside. */
const floors = [
  { name: 'core', path: 'core/', uses: ['core/'], node: ['crypto', 'async_hooks'] },
  { name: 'store-port', path: PORT, uses: ['core/', PORT] },
  store('memory'),
  store('redis', [], ['ioredis']),
  // Where the shared store is out, "local" limits in this process' memory.
  store('resilient', ['store/memory/']),
  store('near'),
  {
    name: 'limiter',
    path: 'limiter/',
    uses: ['core/', PORT, 'limiter/'],
    node: ['events'],
  },
  { name: 'http', path: 'http/', uses: ['core/', 'http/'], node: ['net'] },
  {
    name: 'queue',
    path: 'queue/',
    except: NEST_FILES,
    // Its order lives in scripts of its own, on connections of its own.
    uses: ['core/', PORT, 'limiter/', 'http/', 'queue/', 'store/redis/'],
    packages: ['bullmq'],
    node: ['crypto', 'events'],
  },
  {
    name: 'queue-nest-files',
    path: `queue/.*${NEST_FILES}`,
    uses: ['core/', PORT, 'limiter/', 'http/', 'queue/', 'nest/'],
    packages: ['bullmq', ...NEST_PACKAGES],
  },
  {
    name: 'nest',
    path: 'nest/',
    except: '(\\.providers|transports/(rpc|websocket))\\.ts$',
    uses: ['core/', PORT, 'limiter/', 'http/', 'nest/'],
    packages: NEST_PACKAGES,
    node: ['perf_hooks'],
  },
  {
    // Load a peer, and only when a call came that way.
    name: 'nest-transports',
    path: 'nest/transports/(rpc|websocket)\\.ts$',
    uses: ['http/', 'nest/transports/'],
    packages: [...NEST_PACKAGES, '@nestjs/(websockets|microservices)'],
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
    uses: ['core/', 'store/', 'limiter/', 'nest/', 'testing/', QUEUE_FACE],
    packages: ['@nestjs/testing', ...NEST_PACKAGES],
    node: ['crypto', 'timers'],
  },
  // The main entry: nobody pays there for a peer of another entry.
  { name: 'index', path: 'index\\.ts$', uses: ['core/', 'store/', 'limiter/', 'http/', 'nest/'] },
];

/** A store adapter: its own folder, and what is named besides. */
function store(name, uses = [], packages = []) {
  const path = `store/${name}/`;
  return {
    name: `store-${name}`,
    path,
    uses: ['core/', PORT, path, ...uses],
    packages,
    node: ['crypto'],
  };
}

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
      comment: 'No entry point leads to it: left over, or not wired in yet.',
      severity: 'error',
      from: { path: `${ENTRY}|${DEMO}` },
      to: {
        path: '^(libs/rate-limit|apps/demo)/src/',
        pathNot: `${ENTRY}|${DEMO}`,
        reachable: false,
      },
    },
    {
      name: 'apps-use-the-public-entries',
      severity: 'error',
      from: { path: '^apps/' },
      to: { path: SRC, pathNot: ENTRY },
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
