// Notes what the scripts of a queue answered in this process: the instants at which jobs are charged, by the clock
// of Redis and without any measuring error.
import * as scripts from '../../src/queue/lua.generated';
import { RedisScript } from '../../src/store/redis/redis-script';

/** A job that was let start. */
export interface Charge {
  readonly id: string;
  readonly lane: string;
  /** Thousandths of a token. */
  readonly cost: number;
  /** µs: the moment for which it is charged, which is the moment of its start. */
  readonly atUs: number;
  /** µs: when the script ran. */
  readonly ranAtUs: number;
}

/** Jobs that were paid ahead of their start, in the order of payment. */
export interface Grants {
  readonly atUs: number;
  readonly lane: string;
  readonly ids: readonly string[];
}

export interface ScriptLog {
  readonly charges: Charge[];
  readonly grants: Grants[];
  /** Calls of each script. */
  readonly calls: Record<string, number>;
}

/** Starts noting, for good. Only for processes that are the test's own. */
export function logScripts(told: (entry: Partial<ScriptLog>) => void): void {
  const names = new Map<string, string>(
    Object.entries(scripts).map(([name, { lua }]) => [lua, name] as const),
  );
  // oxlint-disable-next-line typescript/unbound-method -- called with the same `this`
  const { run } = RedisScript.prototype;
  RedisScript.prototype.run = async function (client, keys, args) {
    const reply = await run.call(this, client, keys, args);
    const name = names.get((this as unknown as { lua: string }).lua);
    if (name === undefined) return reply;
    const answer = reply as number[];
    const [first, second, third] = args as [string, string, number];
    told({
      calls: { [name]: 1 },
      ...(name === 'start' &&
        answer[0] === 1 && {
          charges: [
            {
              id: first,
              lane: second,
              cost: Number(third),
              ranAtUs: answer[1],
              atUs: answer[1] + answer[2],
            },
          ],
        }),
      ...(name === 'grant' &&
        answer.length > 2 && {
          grants: [{ atUs: answer[0], lane: first, ids: answer.slice(2).map(String) }],
        }),
    });
    return reply;
  };
}
