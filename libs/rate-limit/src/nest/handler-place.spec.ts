import { All, Controller, Get, Post, Version } from '@nestjs/common';
import { handlerPlace } from './handler-place';

@Controller('users/')
class Users {
  @Get(':id')
  get() {}
  @Post(['', '/new/'])
  create() {}
  @All('*rest')
  rest() {}
  @Get('old')
  @Version(['2', '1'])
  old() {}
  plain() {}
}

@Controller({ path: ['a', 'b'], host: ['x.org', ':t.org'], version: '1' })
class Many {
  @Get()
  get() {}
}

const users = (method: keyof Users, context?: Parameters<typeof handlerPlace>[3]) =>
  handlerPlace(Users, method, Users.prototype[method], context);

describe('handlerPlace', () => {
  it('is method and template, slashes in one form', () => {
    expect(users('get')).toEqual({
      name: 'Users.get',
      route: 'GET /users/:id',
      controller: 'Users /users',
      method: 'GET',
      paths: ['/users/:id'],
    });
    expect(users('rest').route).toBe('ALL /users/*rest');
  });

  it('is one place for several paths, in whatever order they stand', () => {
    expect(users('create')).toMatchObject({
      route: 'POST /users,/users/new',
      paths: ['/users', '/users/new'],
    });
  });

  it('holds version and host', () => {
    expect(users('old').route).toBe('GET /users/old#1,2');
    expect(users('get', { modulePaths: [], defaultVersion: '7' }).route).toBe('GET /users/:id#7');
    const many = handlerPlace(Many, 'get', Many.prototype.get);
    expect(many.route).toBe('GET /a,/b#1 :t.org,x.org');
    expect(many.controller).toBe('Many /a,/b#1 :t.org,x.org');
  });

  it('holds what RouterModule puts in front', () => {
    expect(users('get', { modulePaths: ['/admin', 'api'] }).route).toBe(
      'GET /admin/users/:id,/api/users/:id',
    );
  });

  it('is class and method where there is no route', () => {
    expect(users('plain')).toEqual({
      name: 'Users.plain',
      route: 'Users.plain',
      controller: 'Users',
      method: undefined,
      paths: [],
    });
  });
});
