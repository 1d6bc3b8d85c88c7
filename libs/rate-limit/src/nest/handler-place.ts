// Where a handler is: its route for HTTP, Class.method elsewhere. The scopes `route` and `controller` are named by it.
import { RequestMethod, type Type } from '@nestjs/common';
import {
  HOST_METADATA,
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants';
import { APP_SCOPE } from '../limiter/policy-registry';

/** What is known of a handler before any request. */
export interface HandlerPlace {
  /** `UsersController.create`. */
  readonly name: string;
  /** `POST /users/:id#1 host`; `Class.method` for a handler without a route. */
  readonly route: string;
  /** The class with its paths. */
  readonly controller: string;
  /** `POST`; `undefined` without a route. */
  readonly method: string | undefined;
  /** Path templates, without the global prefix, which is the same for all. Empty without a route. */
  readonly paths: readonly string[];
}

/** The scope that `route`, `controller` or any other text means for a handler; without one, `app`. */
export function scopeAt(scope: string, at: HandlerPlace | undefined): string {
  if (scope === 'route') return at?.route ?? APP_SCOPE;
  if (scope === 'controller') return at?.controller ?? APP_SCOPE;
  return scope;
}

/** What the application adds to the routes of a class. */
export interface RouteContext {
  /** What RouterModule put before the paths of the class' module. */
  readonly modulePaths: readonly string[];
  /** The version of classes without one; `undefined`: versioning is off, or there is none. */
  readonly defaultVersion?: unknown;
}

/**
 * The place of `type.prototype[method]`. Several paths of one handler are one place. A path's spelling
 * in a request plays no part: only templates do.
 */
export function handlerPlace(
  type: Type,
  method: string,
  handler: object,
  { modulePaths, defaultVersion }: RouteContext = { modulePaths: [] },
): HandlerPlace {
  const name = `${type.name}.${method}`;
  const own = pathsOf(PATH_METADATA, handler);
  if (own === undefined) {
    return { name, route: name, controller: type.name, method: undefined, paths: [] };
  }
  const classPaths = pathsOf(PATH_METADATA, type) ?? [''];
  const before = modulePaths.length === 0 ? [''] : modulePaths;
  const bases = before.flatMap((base) => classPaths.map((path) => joined(base, path)));
  const paths = [...new Set(bases.flatMap((base) => own.map((path) => joined(base, path))))];
  const version =
    metadata(VERSION_METADATA, handler) ?? metadata(VERSION_METADATA, type) ?? defaultVersion;
  const host = metadata(HOST_METADATA, type);
  const requestMethod =
    RequestMethod[(metadata(METHOD_METADATA, handler) as RequestMethod | undefined) ?? 0];
  const tail = `${version === undefined ? '' : `#${listed(version)}`}${host === undefined ? '' : ` ${listed(host)}`}`;
  return {
    name,
    route: `${requestMethod} ${listed(paths)}${tail}`,
    controller: `${type.name} ${listed([...new Set(bases)])}${tail}`,
    method: requestMethod,
    paths,
  };
}

/** What RouterModule registered for a module. */
export function modulePathOf(
  module: object | undefined,
  applicationId: string,
): string | undefined {
  if (module === undefined) return undefined;
  return (metadata(MODULE_PATH + applicationId, module) ?? metadata(MODULE_PATH, module)) as
    string | undefined;
}

function metadata(key: string, target: object): unknown {
  return Reflect.getMetadata(key, target);
}

function pathsOf(key: string, target: object): string[] | undefined {
  const paths = metadata(key, target) as string | string[] | undefined;
  if (paths === undefined) return undefined;
  return (Array.isArray(paths) ? paths : [paths]).map(String);
}

function joined(base: string, path: string): string {
  const parts = [base, path].map((part) => part.replace(/^\/+|\/+$/g, '')).filter((part) => part);
  return `/${parts.join('/')}`;
}

/** Order does not matter: the same set of paths, versions or hosts gives the same text. */
function listed(value: unknown): string {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values
    .map((each) => String(each))
    .sort()
    .join(',');
}
