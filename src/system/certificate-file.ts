import { readFileSync } from 'node:fs';

/** Reads the certificate authorities of the option `tlsCAFile`, in PEM format, or says why the file cannot be used. */
export const readCertificate = (file: string): { ca: string } | { fault: string } => {
  try {
    const ca = readFileSync(file, 'utf8');
    if (ca.includes('-----BEGIN CERTIFICATE-----')) return { ca };
  } catch (error) {
    return { fault: `the file of tlsCAFile cannot be read (${String(error)})` };
  }
  return { fault: `${file}, the file of tlsCAFile, has no certificate in PEM format` };
};
