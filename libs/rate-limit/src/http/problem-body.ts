// Knows the body of a refusal (RFC 9457 problem details); must not know exceptions or responses. Pure.
import { type Decision } from '../core/decision';
import { bindingDecision, retryAfterSeconds } from './retry-after';

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types';

/** Headers that go with every problem body, beside `Retry-After`. RFC 6585: a 429 must not be cached. */
export const PROBLEM_HEADERS: ReadonlyArray<readonly [name: string, value: string]> = [
  ['Content-Type', 'application/problem+json'],
  ['Cache-Control', 'no-store'],
];

/** The body of a refusal. `violated-policies` is the draft's own name, hyphen included. */
export interface ProblemBody {
  /** URI of the kind of problem; the draft asks IANA for it, it is not registered yet. */
  readonly type: string;
  /** The same for every occurrence of a type. */
  readonly title: string;
  /** Equal to the status of the response. */
  readonly status: 429 | 503;
  /** For people: which policy, what was asked, when to come back. */
  readonly detail: string;
  readonly 'violated-policies': string[];
  /** Seconds; equal to the `Retry-After` header. */
  readonly retryAfter: number;
  /** Tokens that the call asked for. */
  readonly cost: number;
}

/**
 * 429: this caller's quota is used up.
 *
 * @param decisions of all enforced policies of the request, at least one of them a denial.
 */
export function quotaExceeded(decisions: readonly Decision[]): ProblemBody {
  const binding = bindingDecision(decisions);
  const denials = decisions.filter((decision) => !decision.allowed);
  const retryAfter = retryAfterSeconds(binding.retryAfterMs);
  return {
    type: `${PROBLEM_TYPES}#quota-exceeded`,
    title: 'Quota Exceeded',
    status: 429,
    detail: `${[...new Set(denials.map(reason))].join(' ')} Retry in ${retryAfter} s.`,
    'violated-policies': [...new Set(denials.map((decision) => decision.policy))],
    retryAfter,
    cost: binding.cost,
  };
}

/** What was refused without a decision of a bucket. */
export interface UndecidedCall {
  /** A sentence for people. @default that the rate limit cannot be checked */
  readonly reason?: string;
  /** Names of the policies that could not be asked. */
  readonly policies: readonly string[];
  /** Milliseconds until it is worth trying again; sent as whole seconds, at least 1. */
  readonly retryAfterMs: number;
  /** Tokens that the call asked for. */
  readonly cost: number;
}

/** 503: the store is out and the failure policy is `closed`, or this service has no room. Says nothing about the caller's own quota. */
export function temporaryReducedCapacity(call: UndecidedCall): ProblemBody {
  return undecided('temporary-reduced-capacity', 'Temporary Reduced Capacity', 503, call);
}

/** 429: this caller may not even wait. */
export function noPlaceToWait(call: UndecidedCall): ProblemBody {
  return undecided('quota-exceeded', 'Quota Exceeded', 429, call);
}

function undecided(
  type: string,
  title: string,
  status: ProblemBody['status'],
  {
    reason = 'The rate limit cannot be checked right now.',
    retryAfterMs,
    policies,
    cost,
  }: UndecidedCall,
): ProblemBody {
  const retryAfter = retryAfterSeconds(retryAfterMs);
  return {
    type: `${PROBLEM_TYPES}#${type}`,
    title,
    status,
    detail: `${reason} Retry in ${retryAfter} s.`,
    'violated-policies': [...new Set(policies)],
    retryAfter,
    cost,
  };
}

function reason({ policy, cost, remaining }: Decision): string {
  if (cost === 1) return `Policy "${policy}" is exhausted.`;
  return `Policy "${policy}" has ${remaining} left and the call costs ${cost}.`;
}
