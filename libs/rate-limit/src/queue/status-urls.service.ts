// Where the status of a job is served: the path of the module, with all that the application puts before it.
import { RequestMethod } from '@nestjs/common';
import type { ApplicationConfig } from '@nestjs/core';

/** Makes the URLs of jobs: absolute paths, right with a global prefix and `RouterModule`. */
export class StatusUrls {
  #base: string | undefined;

  /** @param path asked when the first URL is made: the application may set its prefix until it starts */
  constructor(
    private readonly config: ApplicationConfig,
    private readonly path: () => string,
  ) {}

  of(id: string): string {
    this.#base ??= this.#withPrefix(joined(this.path()));
    return `${this.#base}/${id}`;
  }

  #withPrefix(path: string): string {
    const { exclude = [] } = this.config.getGlobalPrefixOptions();
    const isExcluded = exclude.some(
      ({ pathRegex, requestMethod }) =>
        [RequestMethod.ALL, RequestMethod.GET].includes(requestMethod) &&
        pathRegex.test(`${path}/:id`),
    );
    return isExcluded ? path : joined(this.config.getGlobalPrefix(), path);
  }
}

/** `/a/b` of parts with and without slashes. */
export function joined(...parts: string[]): string {
  return `/${parts.flatMap((part) => part.split('/').filter((each) => each !== '')).join('/')}`;
}
