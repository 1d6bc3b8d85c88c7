// How decorators leave notes on classes and methods, and how the notes are read.
import 'reflect-metadata';

/** Works on a class and on a method. */
export type Recording = ClassDecorator & MethodDecorator;

/** A decorator that adds one note; notes keep the order in which they stand in the source. */
export function recordingDecorator(key: symbol, note: readonly unknown[]): Recording {
  return (target: object, _name?: string | symbol, descriptor?: PropertyDescriptor) => {
    const place = descriptor === undefined ? target : (descriptor.value as object);
    // Decorators are evaluated from the last to the first.
    Reflect.defineMetadata(key, [note, ...ownNotes(key, place)], place);
  };
}

/** The notes on exactly this class or function; not those of a base class. */
export function ownNotes(key: symbol, place: object): readonly (readonly unknown[])[] {
  return (Reflect.getOwnMetadata(key, place) as unknown[][] | undefined) ?? [];
}
