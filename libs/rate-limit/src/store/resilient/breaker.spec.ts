import { Breaker } from './breaker';

describe('Breaker', () => {
  it('opens at the third failure in a row, and says so once', () => {
    const breaker = new Breaker();
    expect([breaker.failed(), breaker.failed(), breaker.isOpen]).toEqual([false, false, false]);
    expect([breaker.failed(), breaker.isOpen]).toEqual([true, true]);
    expect([breaker.failed(), breaker.failed(), breaker.isOpen]).toEqual([false, false, true]);
  });

  it('starts to count anew after a success', () => {
    const breaker = new Breaker();
    breaker.failed();
    breaker.failed();
    expect(breaker.succeeded()).toBe(false);
    expect([breaker.failed(), breaker.failed(), breaker.isOpen]).toEqual([false, false, false]);
  });

  it('closes at the first success after an outage, and says so once', () => {
    const breaker = new Breaker();
    for (let i = 0; i < 5; i++) breaker.failed();
    expect([breaker.succeeded(), breaker.isOpen, breaker.succeeded()]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
