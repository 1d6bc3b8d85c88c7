// The test functions of whoever runs us: Jest, or Vitest with `globals: true`. Typed as far as we use them, so
// that nobody needs the types of a runner for our declarations.

interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
}

interface TestRunner {
  describe: (name: string, tests: () => void) => void;
  it: (name: string, test: () => Promise<void>) => void;
  expect: (actual: unknown) => Matchers;
}

/** @throws Error outside of a test run */
export function testRunner(): TestRunner {
  const { describe, it, expect } = globalThis as unknown as Partial<TestRunner>;
  if (describe === undefined || it === undefined || expect === undefined) {
    throw new Error(
      'storeContract needs describe, it and expect as globals: call it in a test file of Jest, or of Vitest with globals: true',
    );
  }
  return { describe, it, expect };
}
