import { StoreUnavailableError } from '../../core/errors';
import { FakeClock } from '../../testing';
import { MemoryConfigurations } from './memory-configurations';

describe('MemoryConfigurations', () => {
  it('forgets what has ended as others arrive: the number kept is flat', () => {
    const clock = new FakeClock();
    const kept = new MemoryConfigurations(clock);
    let largest = 0;
    for (let i = 0; i < 100_000; i++) {
      clock.advance(1);
      kept.block(`caller ${i}`, 1000);
      largest = Math.max(largest, kept.size);
    }
    expect(largest).toBeLessThan(3000);
  });

  it('refuses a key too many, and keeps what was set: none ends before its time', () => {
    const clock = new FakeClock();
    const kept = new MemoryConfigurations(clock, 1000);
    for (let i = 0; i < 1000; i++) kept.block(`caller ${i}`, 60_000);
    expect(() => kept.block('one more', 60_000)).toThrow(StoreUnavailableError);
    expect(() => kept.configure('one more', { limit: { rate: 1 } }, 60_000)).toThrow('maxBuckets');
    kept.block('caller 7', 120_000);
    expect(kept.inForce('caller 8', 0)?.blockedUs).toBeGreaterThan(0);
    clock.advance(60_000);
    kept.block('one more', 60_000);
    expect(kept.read(['one more', 'caller 7', 'caller 8'])).toEqual([
      { blockedUntilMs: clock.nowMs() + 60_000 },
      { blockedUntilMs: clock.nowMs() + 60_000 },
      {},
    ]);
  });
});
