// What can happen to a Redis and the way to it. Each begins, lasts, and ends; what it promises for the limits stands
// beside it.
const EVERY_MS = 100;

/** Repeats something while a fault lasts. */
function again(act) {
  let timer;
  return {
    begin(world) {
      act(world);
      timer = setInterval(() => act(world), EVERY_MS);
    },
    end: () => clearInterval(timer),
  };
}

/** Something about the proxy that lasts; whatever was held back is gone, so the connections end with it. */
function proxied(change) {
  return {
    begin: ({ proxy }) => Object.assign(proxy, change),
    end({ proxy }) {
      proxy.heal();
      if (change.silent || change.halfAnswers) proxy.cut();
    },
  };
}

/**
 * `forgets`: the buckets are lost, so one capacity more may pass. `isOut`: Redis leaves calls without an answer, so the
 * failure policies give one. `steps`: the clock of Redis moves, by so many seconds.
 */
export const FAULTS = [
  { name: 'nothing', begin() {}, end() {} },
  {
    name: 'frozen (SIGSTOP)',
    isOut: true,
    begin: ({ redis }) => redis.freeze(),
    end: ({ redis }) => redis.thaw(),
  },
  {
    name: 'killed, back without data',
    isOut: true,
    forgets: true,
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.launch(),
  },
  {
    name: 'killed, back with data',
    isOut: true,
    begin: ({ redis }) => redis.kill({ keepsData: true }),
    end: ({ redis }) => redis.launch(),
  },
  {
    name: 'FLUSHALL, once',
    forgets: true,
    begin: ({ redis }) => redis.call('FLUSHALL'),
    end() {},
  },
  { name: 'SCRIPT FLUSH, ten a second', ...again(({ redis }) => redis.call('SCRIPT', 'FLUSH')) },
  {
    name: 'a replica now (REPLICAOF)',
    isOut: true,
    begin: ({ redis }) => redis.call('REPLICAOF', '127.0.0.1', '1'),
    end: ({ redis }) => redis.call('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'full (maxmemory)',
    isOut: true,
    begin: ({ redis }) => redis.call('CONFIG', 'SET', 'maxmemory', '1'),
    end: ({ redis }) => redis.call('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    name: 'CLIENT KILL, ten a second',
    isOut: true,
    ...again(({ redis }) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')),
  },
  { name: 'connections cut, ten a second', isOut: true, ...again(({ proxy }) => proxy.cut()) },
  { name: 'answers cut in half', isOut: true, ...proxied({ halfAnswers: true }) },
  { name: '100 ms there and back, ± 50', ...proxied({ delayMs: 25, jitterMs: 50 }) },
  { name: '500 ms there and back: beyond the deadline', isOut: true, ...proxied({ delayMs: 250 }) },
  { name: 'a fifth of the segments lost', isOut: true, ...proxied({ lossShare: 0.2 }) },
  { name: 'silent connection (black hole)', isOut: true, ...proxied({ silent: true }) },
  {
    name: 'accepts and never answers',
    isOut: true,
    begin({ proxy }) {
      proxy.silent = true;
      proxy.cut();
    },
    end({ proxy }) {
      proxy.heal();
      proxy.cut();
    },
  },
  {
    name: 'clock an hour ahead',
    steps: 3600,
    begin: ({ redis }) => redis.setClock(3600),
    end: ({ redis }) => redis.setClock(0),
  },
  {
    name: 'clock an hour behind',
    steps: -3600,
    begin: ({ redis }) => redis.setClock(-3600),
    end: ({ redis }) => redis.setClock(0),
  },
];
