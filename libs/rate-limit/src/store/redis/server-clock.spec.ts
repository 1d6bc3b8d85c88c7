import fc from 'fast-check';
import { ServerClock } from './server-clock';

describe('ServerClock', () => {
  it('believes the guess until a reply says otherwise', () => {
    expect(new ServerClock(5000).at(100)).toBe(5100);
  });

  it('is set right by one reply, whatever was guessed', () => {
    for (const guess of [-1e9, 0, 1e9]) {
      const clock = new ServerClock(guess);
      clock.read(7000, 10, 12); // read somewhere between 10 and 12
      expect(clock.at(12)).toBeGreaterThanOrEqual(7000);
      expect(clock.at(10)).toBeLessThanOrEqual(7001);
    }
  });

  it('is not spoilt by a reply that came late, or was read late', () => {
    const clock = new ServerClock(5000);
    clock.read(5101, 100, 102);
    const before = clock.at(0);
    clock.read(5201, 200, 1900);
    clock.read(6900, 300, 1901);
    expect(clock.at(0)).toBe(before);
  });

  it('follows a step of the server, in both directions', () => {
    for (const step of [-3_600_000, 3_600_000]) {
      const clock = new ServerClock(5000);
      clock.read(5101, 100, 102);
      clock.read(5201 + step, 200, 202);
      expect(Math.abs(clock.at(202) - (5202 + step))).toBeLessThanOrEqual(2);
    }
  });

  it('stays within every bound of a server that does not step', () => {
    const reply = fc.record({
      gap: fc.nat(1000),
      out: fc.nat(300),
      back: fc.nat(300),
      rest: fc.nat(999),
    });
    fc.assert(
      fc.property(fc.array(reply, { minLength: 1 }), fc.integer(), (replies, guess) => {
        const offset = 1_767_225_600_000.25;
        const clock = new ServerClock(guess);
        let now = 0;
        for (const { gap, out, back, rest } of replies) {
          const sent = (now += gap);
          const read = Math.floor((now += out) + offset + rest / 1000);
          now += back + 1;
          clock.read(read, sent, now);
          expect(clock.at(now)).toBeGreaterThanOrEqual(read);
          expect(clock.at(sent)).toBeLessThanOrEqual(read + 1);
        }
      }),
    );
  });
});
