// Pure: what is made of measurements.

export function median(values) {
  return percentile(values, 0.5);
}

/** The value below which `part` of the values are. */
export function percentile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** The most of these moments (ms, in order) that lie within any stretch of `ms`. */
export function mostWithin(momentsMs, ms) {
  let most = 0;
  let from = 0;
  momentsMs.forEach((moment, i) => {
    while (momentsMs[from] <= moment - ms) from++;
    most = Math.max(most, i - from + 1);
  });
  return most;
}

/** Markdown. */
export function table(head, rows) {
  const line = (cells) => `| ${cells.map(shown).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function shown(cell) {
  return typeof cell === 'number' && !Number.isInteger(cell) ? cell.toFixed(2) : String(cell);
}
