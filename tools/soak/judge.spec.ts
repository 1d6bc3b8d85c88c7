// The judge of the soak, judged: it must see a leak and a violation, and must not invent one.
import { growth, leftovers, roundProblems, type SoakRound, type SoakSample } from './judge';

const at = (...times: number[]) => times.map((ms) => ({ sentMs: ms, receivedMs: ms }));
const law = {
  steady: { rate: 1, capacity: 2 },
  jobs: { rate: 1, capacity: 2 },
  slots: 3,
  seconds: 10,
};
const good: SoakRound = {
  admitted: at(0, 0, 1000, 2000, 3000),
  starts: at(0, 0, 1000),
  mostInFlight: 3,
  outs: 0,
  outForMs: 0,
  unhandled: [],
  foreign: [],
  endless: 0,
};
const sample: SoakSample = {
  heapMb: 30,
  handles: 20,
  connections: 6,
  open: 2,
  inFlight: 3,
  keys: { limits: 5, queue: 100 },
};

describe('roundProblems', () => {
  it('has nothing to say of a round that keeps to its limits', () => {
    expect(roundProblems({}, good, law)).toEqual([]);
  });

  it.each<[string, Partial<SoakRound>]>([
    ['calls above the envelope', { admitted: at(0, 0, 0, 0, 0) }],
    ['jobs started above the envelope', { starts: at(0, 0, 0, 0, 0) }],
    ['calls at a time', { mostInFlight: 4 }],
    ['of the steady calls passed', { admitted: at(0, 1000) }],
    ['taken for out', { outForMs: 6001 }],
    ['keys of limits without an end', { endless: 1 }],
    ['unhandled', { unhandled: ['Error: x'] }],
    ['no error of ours', { foreign: ['TypeError: x'] }],
  ])('sees %s', (what, seen) => {
    const problems = roundProblems({}, { ...good, ...seen }, law);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(what);
  });

  it('allows a process its own bucket while Redis is out, and jobs none', () => {
    const twice = { ...good, admitted: at(0, 0, 0, 0, 0), mostInFlight: 6 };
    const thrice = { ...twice, admitted: at(0, 0, 0, 0, 0, 0, 0) };
    expect(roundProblems({ isOut: true }, twice, law)).toEqual([]);
    expect(roundProblems({}, { ...twice, outs: 1 }, law)).toEqual([]);
    expect(roundProblems({}, { ...thrice, outs: 1 }, law)).toHaveLength(1);
    expect(roundProblems({}, { ...thrice, outs: 2 }, law)).toEqual([]);
    expect(roundProblems({}, twice, law)).toHaveLength(2);
    const jobs = { ...twice, starts: at(0, 0, 0, 0, 0) };
    expect(roundProblems({ isOut: true }, jobs, law)).toHaveLength(1);
    expect(roundProblems({ forgets: true }, jobs, law)).toEqual([]);
  });
});

describe('growth', () => {
  const grown = (of: (round: number) => Partial<SoakSample>) =>
    Object.entries(growth(Array.from({ length: 40 }, (_, round) => ({ ...sample, ...of(round) }))))
      .filter(([, [more, most]]) => more > most)
      .map(([what]) => what);

  it('does not take warming up, or a single bad moment, for a leak', () => {
    expect(grown((round) => ({ heapMb: Math.min(60, 10 * round) }))).toEqual([]);
    expect(grown((round) => ({ handles: round === 35 ? 500 : 20 }))).toEqual([]);
  });

  it('sees what grows with every round', () => {
    expect(grown((round) => ({ heapMb: 30 + round * 0.5 }))).toEqual(['MB of heap']);
    expect(grown((round) => ({ handles: 20 + round }))).toEqual(['handles']);
    expect(grown((round) => ({ connections: 6 + round }))).toEqual(['connections to Redis']);
    expect(grown((round) => ({ open: 3 * round }))).toEqual(['open calls']);
    expect(grown((round) => ({ keys: { limits: 20 * round, queue: 100 } }))).toEqual([
      'keys of limits',
    ]);
    expect(grown((round) => ({ keys: { limits: 5, queue: 20 * round } }))).toEqual([
      'keys of the queue',
    ]);
  });
});

describe('leftovers', () => {
  const idle = { ...sample, open: 0, inFlight: 0, keys: { limits: 0, queue: 100 } };

  it('wants everything gone but what the queue keeps', () => {
    expect(leftovers(idle, idle)).toEqual([]);
  });

  it('names each thing that stayed', () => {
    expect(leftovers(idle, { ...sample, handles: 40, connections: 8 })).toHaveLength(5);
  });
});
