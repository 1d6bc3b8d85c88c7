// Configurations of a shared store, within the deadline. There are no local ones: numbers that one process believes
// and the others do not would be a second truth.
import type { Configuration, ConfigurationStore, ConfiguredLimit } from '../configuration-store';
import type { SharedCalls } from './shared-calls';

/** @throws StoreUnavailableError from every method while the shared store is out */
export class ResilientConfigurations implements ConfigurationStore {
  constructor(
    private readonly inner: ConfigurationStore,
    private readonly calls: SharedCalls,
  ) {}

  configure(name: string, configured: ConfiguredLimit, ttlMs: number): Promise<void> {
    return this.calls.inTime(async () => this.inner.configure(name, configured, ttlMs));
  }

  clear(name: string): Promise<void> {
    return this.calls.inTime(async () => this.inner.clear(name));
  }

  block(name: string, ms: number): Promise<void> {
    return this.calls.inTime(async () => this.inner.block(name, ms));
  }

  read(names: readonly string[]): Promise<readonly Configuration[]> {
    return this.calls.inTime(async () => this.inner.read(names));
  }
}
