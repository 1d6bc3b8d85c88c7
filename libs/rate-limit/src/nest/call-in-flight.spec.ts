// When a request is over: its answer and its handler, in any order, said once.
import { EventEmitter } from 'node:events';
import { callInFlight } from './call-in-flight';

function request() {
  const response = Object.assign(new EventEmitter(), { closed: false });
  const call = callInFlight({}, response);
  const told: string[] = [];
  const watch = () =>
    call.watch({ ended: () => told.push('ended'), abandoned: () => told.push('abandoned') });
  watch();
  return { response, call, told, watch };
}

describe('a request', () => {
  it('ends with its answer when no handler was called', () => {
    const { response, told } = request();
    response.emit('close');
    expect(told).toEqual(['ended']);
  });

  it('ends with its answer when the handler has ended', () => {
    const { response, call, told } = request();
    call.handlerStarts()();
    expect(told).toEqual([]);
    response.emit('close');
    expect(told).toEqual(['ended']);
  });

  it('is abandoned when the answer ends first, and ends with its handler', () => {
    const { response, call, told } = request();
    const ended = call.handlerStarts();
    response.emit('close');
    expect(told).toEqual(['abandoned']);
    ended();
    ended();
    expect(told).toEqual(['abandoned', 'ended']);
  });

  it('watched twice over, by class and by method, ends with the outer watch', () => {
    const { response, call, told } = request();
    const [outer, inner] = [call.handlerStarts(), call.handlerStarts()];
    response.emit('close');
    inner();
    expect(told).toEqual(['abandoned']);
    outer();
    expect(told).toEqual(['abandoned', 'ended']);
  });

  it('tells latecomers at once', () => {
    const { response, call, told, watch } = request();
    const ended = call.handlerStarts();
    response.emit('close');
    watch();
    expect(told).toEqual(['abandoned', 'abandoned']);
    ended();
    watch();
    expect(told).toEqual(['abandoned', 'abandoned', 'ended', 'ended', 'ended']);
  });

  it.each(['closed', 'destroyed'])('that is %s already is over', (state) => {
    const response = Object.assign(new EventEmitter(), { [state]: true });
    const told: string[] = [];
    const call = callInFlight({}, { raw: response });
    call.watch({ ended: () => told.push('ended'), abandoned: () => told.push('abandoned') });
    expect(told).toEqual(['ended']);
  });

  it('is taken once for each purpose, by whomever sees it', () => {
    const [one, response] = [{}, new EventEmitter()];
    const purpose = {};
    expect(callInFlight(one, response).takes(purpose)).toBe(true);
    expect(callInFlight(one, response).takes(purpose)).toBe(false);
    expect(callInFlight(one, response).takes({})).toBe(true);
    expect(callInFlight({}, response).takes(purpose)).toBe(true);
  });
});
