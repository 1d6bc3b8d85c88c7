// The status of jobs over HTTP.
import {
  ConflictException,
  Controller,
  Delete,
  Get,
  Headers,
  Inject,
  NotFoundException,
  Param,
  Res,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { setHeaders } from '../nest/transports/http-caller';
import { jobAnswer, type JobBody } from './job-answer';
import { LongPolls, preferredWaitS } from './long-polls.service';
import { OpenQueues } from './open-queues.service';
import type { JobStatus } from './queue-face';
import type { RateLimitedQueue } from './rate-limited-queue';
import { StatusUrls } from './status-urls.service';

/** What `submit` gives out; ids that others chose may be guessed. */
const UNGUESSABLE = /^[0-9a-f]{32}$/;

interface Found {
  readonly queue: RateLimitedQueue;
  readonly status: JobStatus;
}

/** A controller at this path. */
export function statusController(path: string): Type {
  @Controller({ path, version: VERSION_NEUTRAL })
  class RateLimitStatusController {
    constructor(
      @Inject(OpenQueues) private readonly queues: OpenQueues,
      @Inject(StatusUrls) private readonly urls: StatusUrls,
      @Inject(LongPolls) private readonly polls: LongPolls,
    ) {}

    /** What a job does. With `Prefer: wait=5` not before it has ended, or 5 s have passed. */
    @Get(':id')
    async status(
      @Param('id') id: string,
      @Headers('prefer') prefer: string | undefined,
      @Res({ passthrough: true }) response: unknown,
    ): Promise<JobBody> {
      const { queue, status } = await this.#found(id);
      const waitS = preferredWaitS(prefer);
      if (waitS === undefined || !this.polls.hasRoom) return this.#answer(id, status, response);
      const isOpen = status.state === 'waiting' || status.state === 'active';
      if (isOpen) await this.polls.wait(queue, id, waitS, response);
      const now = isOpen ? (await this.#found(id)).status : status;
      setHeaders(response, [['Preference-Applied', `wait=${waitS}`]]);
      return this.#answer(id, now, response);
    }

    /** Takes a job out of its line. 409 when it runs or has ended in another way. */
    @Delete(':id')
    async cancel(
      @Param('id') id: string,
      @Res({ passthrough: true }) response: unknown,
    ): Promise<JobBody> {
      const { queue } = await this.#found(id);
      await queue.ticket(id).cancel();
      const { status } = await this.#found(id);
      if (status.state !== 'cancelled') {
        throw new ConflictException(`the job is ${status.state}: it can no longer be cancelled`);
      }
      return this.#answer(id, status, response);
    }

    async #found(id: string): Promise<Found> {
      const queues = UNGUESSABLE.test(id) ? this.queues.all : [];
      const found = await Promise.all(
        queues.map(async (opened) => {
          const queue = opened.queue as RateLimitedQueue;
          const status = await queue.status(id);
          return status === undefined ? [] : [{ queue, status }];
        }),
      );
      const [known] = found.flat();
      if (known !== undefined) return known;
      throw new NotFoundException('no job has this id, or its result was forgotten');
    }

    #answer(id: string, status: JobStatus, response: unknown): JobBody {
      const { body, headers } = jobAnswer(id, status, this.urls.of(id));
      setHeaders(response, [...headers, ['Vary', 'Prefer']]);
      return body;
    }
  }
  return RateLimitStatusController;
}
