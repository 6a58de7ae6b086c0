/** How much memory the objects of this process may take: of the machine, or of `--max-old-space-size`. */
import { getHeapStatistics } from 'node:v8';

export const heapBytesMax = (): number => getHeapStatistics().heap_size_limit;
