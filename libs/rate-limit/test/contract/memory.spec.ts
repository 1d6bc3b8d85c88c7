import { MemoryStore } from '../../src/store/memory/memory-store';
import { storeContract } from '../../src/testing';

storeContract('memory', (clock) => new MemoryStore({ clock }));
