// The test functions of whoever runs us: Jest, Vitest, or one that hands them in. Typed as far as we use them, so
// that nobody needs the types of a runner for our declarations.

/** What `expect(…)` offers. */
export interface Matchers {
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
}

/** The functions of a test runner. Those of Jest and Vitest fit. */
export interface TestRunner {
  describe: (name: string, tests: () => void) => void;
  it: (name: string, test: () => Promise<void>) => void;
  expect: (actual: unknown) => Matchers;
}

/** @throws Error outside of a test run */
export function globalRunner(): TestRunner {
  const { describe, it, expect } = globalThis as unknown as Partial<TestRunner>;
  if (describe === undefined || it === undefined || expect === undefined) {
    throw new Error(
      'storeContract needs describe, it and expect: call it in a test file of Jest, or of Vitest with globals: true, or hand { describe, it, expect } in as its last argument',
    );
  }
  return { describe, it, expect };
}
