// Who imports nest-rate-limit/testing needs neither BullMQ nor ioredis.
jest.mock('bullmq', () => {
  throw new Error('bullmq was loaded');
});
jest.mock('ioredis', () => {
  throw new Error('ioredis was loaded');
});

describe('nest-rate-limit/testing', () => {
  it('loads no optional peer', () => {
    const testing = jest.requireActual<object>('./index');
    expect(Object.keys(testing)).toContain('RateLimitTestingModule');
    expect(() => jest.requireActual<object>('../queue')).toThrow('bullmq was loaded');
  });
});
