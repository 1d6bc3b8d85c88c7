// What a processor of an in-process queue sees of its job: one of BullMQ, as far as a processor needs it.
import type { JobRetries } from './in-process-options';

/** A job as a processor sees it. */
export class InProcessJob<Data = unknown, Result = unknown> {
  attemptsMade = 0;
  attemptsStarted = 0;
  /** What `updateProgress` was told last. */
  progress: unknown = 0;
  processedOn: number | undefined;
  finishedOn: number | undefined;
  returnvalue: Result | undefined;
  failedReason: string | undefined;
  /** What was logged. */
  readonly logs: string[] = [];

  /** @param name of the queue, which is that of its jobs */
  constructor(
    readonly id: string,
    readonly name: string,
    public data: Data,
    readonly opts: JobRetries,
    /** When it was accepted, in ms of the test's clock. */
    readonly timestamp: number,
  ) {}

  get queueName(): string {
    return this.name;
  }

  async updateData(data: Data): Promise<void> {
    this.data = data;
  }

  async updateProgress(progress: unknown): Promise<void> {
    this.progress = progress;
  }

  /** How many lines there are then. */
  async log(line: string): Promise<number> {
    return this.logs.push(line);
  }
}
