// What a test measured, for whoever wants to read it: lines of JSON in the file that QUEUE_FIGURES names.
import { appendFileSync } from 'node:fs';

export function noteFigures(what: string, figures: Record<string, number | string>): void {
  const file = process.env.QUEUE_FIGURES;
  if (file) appendFileSync(file, `${JSON.stringify({ what, ...figures })}\n`);
}
