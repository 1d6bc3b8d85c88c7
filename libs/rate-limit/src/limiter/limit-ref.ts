// How a call names its limit.
import type { Limit } from '../core/limit';

/** Which limit a call is about: numbers, the name of a policy, or a row of the tier table. */
export type LimitRef = Limit | string | { tier: string };
