// What an application says between its making and its first answer. Knows nothing of the library but its loggers' names.
import { Logger } from '@nestjs/common';

/** Collects the warnings of the library from here on; `jest.restoreAllMocks()` ends it. */
export function collectWarnings(): string[] {
  const lines: string[] = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(function (this: Logger, line: string) {
    lines.push(line);
  });
  return lines;
}
