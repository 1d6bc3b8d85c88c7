// Knows whether node_modules holds what package-lock.json asks for, and installs it when not. Runs before any
// package is there, so it imports nothing but Node.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Installs with `npm ci` unless everything is there; ends the process when that fails. */
export function ensureDependencies(root) {
  if (isComplete(root)) return;
  console.log('Installing dependencies (npm ci), once.');
  // NODE_ENV=production would leave out the compiler; npm's own path spares a search on the PATH.
  const args = ['ci', '--include=dev', '--loglevel=error'];
  const [command, ...first] = process.env.npm_execpath
    ? [process.execPath, process.env.npm_execpath]
    : ['npm'];
  const { status, error } = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status === 0) return;
  console.error(
    `npm ci failed${error ? `: ${error.message}` : ''}. Run it by hand to see why: npm ci`,
  );
  process.exit(1);
}

/** npm writes node_modules/.package-lock.json last: what it lists was installed. Optional packages may be absent. */
function isComplete(root) {
  const installedFile = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const installed = readPackages(installedFile);
  return Object.entries(readPackages(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    if (!path.startsWith('node_modules/') || wanted.link) return true;
    const found = installed[path];
    return found ? found.version === wanted.version : wanted.optional === true;
  });
}

function readPackages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}
