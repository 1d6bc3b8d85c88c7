// The public surface of nest-rate-limit: explicit named exports only.
export {};
