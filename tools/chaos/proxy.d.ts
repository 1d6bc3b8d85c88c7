/** See proxy.js. */
export declare class ChaosProxy {
  delayMs: number;
  jitterMs: number;
  lossShare: number;
  stallMs: number;
  silent: boolean;
  halfAnswers: boolean;
  static start(target: number): Promise<ChaosProxy>;
  readonly port: number;
  readonly url: string;
  readonly connections: number;
  cut(): void;
  heal(): void;
  stop(): Promise<void>;
}
