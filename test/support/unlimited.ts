/** Settings without limits of calls and of addresses: all requests of tests and benches come from one address. */
const MANY = '100000000';

export const UNLIMITED_APP = {
  // A slow machine must not make a test fail; tests of overload set the waits.
  ADMISSION_WAIT_MS: '100000000',
  ADDRESS_PAGES_PER_SECOND: MANY,
  ADDRESS_REDIRECTS_PER_SECOND: MANY,
  ADDRESS_CALLS_PER_SECOND: MANY,
  ADDRESS_SOCKETS_MAX: MANY,
  BODY_BYTES_PER_SECOND: MANY,
  ADDRESS_VISITS_PER_MINUTE: MANY,
};

export const UNLIMITED = {
  ...UNLIMITED_APP,
  READS_PER_MINUTE: MANY,
  WRITES_PER_MINUTE: MANY,
};
