// What the text of an application's function gives away. Guesses, good enough for a warning and for nothing else.
import { keyText, type KeyPart, leavesOf } from '../../http/key-resolver';

const USER = /\buser\b(?!-)/;
const SETS_USER = /\buser\b['"\]]*\s*=(?![=>])/;
/** No parameters, and nothing that could bring one in, have an effect, or depend on the moment. */
const WITHOUT_INPUT = /^(?:async\s+)?(?:function\s*)?[\w$]*\s*\(\s*\)\s*(?:=>)?[^()`]*$/;
const MOMENT = /\b(?:arguments|this|await|yield|new)\b/;

function sourceOf(part: unknown): string {
  return Function.prototype.toString.call(part);
}

/** True when the function's text speaks of a user. */
export function mentionsUser(part: unknown): boolean {
  return USER.test(sourceOf(part));
}

/** True when the class' text writes to a property `user`. */
export function setsUser(type: unknown): boolean {
  return SETS_USER.test(sourceOf(type));
}

/** True when a part of the key is who is logged in. */
export function isByUser(key: KeyPart): boolean {
  return leavesOf(key).some((leaf) =>
    leaf.kind === undefined ? mentionsUser(leaf) : leaf.kind === 'user',
  );
}

/** True when the address is all of the key. */
export function isByIp(key: KeyPart): boolean {
  return leavesOf(key).every(({ kind }) => kind === 'ip');
}

/** True when the key is the same for everybody. Asks functions that have nothing to ask for themselves. */
export async function isConstant(key: KeyPart): Promise<boolean> {
  for (const leaf of leavesOf(key)) {
    if (leaf.kind !== undefined || !(await isConstantLeaf(leaf))) return false;
  }
  return true;
}

async function isConstantLeaf(leaf: KeyPart): Promise<boolean> {
  const source = sourceOf(leaf);
  if (leaf.length > 0 || !WITHOUT_INPUT.test(source) || MOMENT.test(source)) return false;
  try {
    return keyText(await leaf()) !== undefined;
  } catch {
    return false;
  }
}
