/** Lists of whole numbers in a row, as base64 of the narrowest array that has them all, which is decoded without parsing. */

const ARRAYS = [Uint8Array, Uint16Array, Uint32Array, Float64Array] as const;

export type PackedNumbers = string;

/** Packs numbers from 0 on. The first character is the number of bytes of each; their order is that of all supported machines. */
export const packNumbers = (numbers: readonly number[]): PackedNumbers => {
  let most = 0;
  for (const number of numbers) most = Math.max(most, number);
  const Kind = ARRAYS.find(({ BYTES_PER_ELEMENT }) => most < 2 ** (8 * BYTES_PER_ELEMENT));
  const array = new (Kind ?? Float64Array)(numbers);
  return `${array.BYTES_PER_ELEMENT}${Buffer.from(array.buffer).toString('base64')}`;
};

/** Throws if the text is not one of `packNumbers`. */
export const unpackNumbers = (packed: PackedNumbers): InstanceType<(typeof ARRAYS)[number]> => {
  const Kind = ARRAYS.find(({ BYTES_PER_ELEMENT }) => packed.startsWith(String(BYTES_PER_ELEMENT)));
  if (!Kind) throw new Error('these are no packed numbers');
  const { buffer, byteOffset, length } = Buffer.from(packed.slice(1), 'base64');
  return new Kind(buffer, byteOffset, length / Kind.BYTES_PER_ELEMENT);
};
