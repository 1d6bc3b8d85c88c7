import { MemoryStore } from '../store/memory/memory-store';
import { storeContract } from './store.contract';
import type { TestRunner } from './test-runner';

/** A runner that keeps what it is told. */
function recorder() {
  const suites: string[] = [];
  const tests: (() => Promise<void>)[] = [];
  const runner: TestRunner = {
    describe: (name, declare) => {
      suites.push(name);
      declare();
    },
    it: (_, test) => void tests.push(test),
    expect: expect as unknown as TestRunner['expect'],
  };
  return { suites, tests, runner };
}

describe('storeContract', () => {
  it('runs with the functions of any runner', async () => {
    const { suites, tests, runner } = recorder();
    storeContract('MyStore', (clock) => new MemoryStore({ clock }), runner);
    storeContract((clock) => new MemoryStore({ clock }), runner);
    expect(suites).toEqual(['store contract: MyStore', 'store contract: a store']);
    for (const test of tests) await test();
    expect(tests.length).toBeGreaterThan(40);
  });

  it('fails for a store that breaks a promise', async () => {
    const { tests, runner } = recorder();
    class Forgetful extends MemoryStore {
      override take(...args: Parameters<MemoryStore['take']>) {
        return super.peek(...args);
      }
    }
    storeContract((clock) => new Forgetful({ clock }), runner);
    const ends = await Promise.allSettled(tests.map((test) => test()));
    expect(ends.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(10);
  });

  it('says what is missing where there is no runner', () => {
    const { describe: kept } = globalThis;
    Reflect.deleteProperty(globalThis, 'describe');
    try {
      expect(() => storeContract(() => new MemoryStore())).toThrow(
        /hand \{ describe, it, expect }/,
      );
    } finally {
      globalThis.describe = kept;
    }
  });
});
