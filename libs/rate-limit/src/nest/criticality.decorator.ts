// Records how much the calls of a class or a method matter.
import 'reflect-metadata';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { CRITICALITIES, type Criticality as Word, isCriticality } from '../limiter/criticality';
import { CRITICALITY_METADATA } from './rate-limit.constants';
import type { Recording } from './recording';

/** How much a call matters. */
export type Criticality = Word;

/**
 * Says how much the calls of a handler, or of all handlers of a class, matter to `LoadSheddingModule`; the method's
 * word holds before its class's. `critical`: never shed. `sheddable`: shed first. `default`: as without the decorator.
 *
 * @throws InvalidLimitError for anything else, when the class is made
 */
export function Criticality(criticality: Word): Recording {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (!isCriticality(criticality)) {
      const type = typeof target === 'function' ? target : target.constructor;
      const place = method === undefined ? type.name : `${type.name}.${String(method)}`;
      throw new InvalidLimitError(
        `${place}: @Criticality(${shown(criticality)}) is unknown: use ${CRITICALITIES.map(shown).join(', ')}`,
      );
    }
    const place = descriptor === undefined ? target : (descriptor.value as object);
    Reflect.defineMetadata(CRITICALITY_METADATA, criticality, place);
  };
}

/** What is recorded of a handler. */
export function recordedCriticality(type: object, handler: object): Criticality | undefined {
  return (Reflect.getMetadata(CRITICALITY_METADATA, handler) ??
    Reflect.getMetadata(CRITICALITY_METADATA, type)) as Criticality | undefined;
}
