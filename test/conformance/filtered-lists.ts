/** Lists of records by filters, on every store of read models, compared with a scan of all rows. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ProjectionStore, ReadModels } from '#src/ports/read-model.ts';
import { MIDNIGHT } from '../support/world/fold.ts';
import { leadSubmitted } from '../support/world/stories.ts';
import * as records from '../support/oracle/listed-leads.ts';
import * as requests from '../support/oracle/listed-requests.ts';

export type OpenedStore = {
  store: ProjectionStore;
  readModels: ReadModels;
  close(): Promise<void>;
};

const QUERIES = 25;
const at = fc.integer({ min: 0, max: 16 }).map((hours) => MIDNIGHT + hours * 3_600_000);

export const filteredListConformance = (
  name: string,
  open: () => Promise<OpenedStore>,
  { numRuns }: { numRuns: number },
): void => {
  describe(`Filtered lists: ${name}`, () => {
    test('The pages of leads by any filters are those of a scan of all leads', async () => {
      const queries = fc.array(fc.tuple(records.leadQuery, at), {
        minLength: QUERIES,
        maxLength: QUERIES,
      });
      await fc.assert(
        fc.asyncProperty(records.leadHistory, queries, async (given, each) => {
          const { store, readModels, close } = await open();
          await records.foldInto(store, given);
          for (const [query, now] of each)
            expect(await records.readLeads(readModels, query, { at: now })).toEqual(
              records.scannedLeads(given, query, now),
            );
          await close();
        }),
        { numRuns },
      );
    });

    test('Leads of a process whose clock is behind are listed by their own times', async () => {
      const { store, readModels, close } = await open();
      const times = [0, -30_000, -600_000, 200_000, 170_000];
      const given = times.map((time, n) =>
        leadSubmitted(`${n}`, { claim_expires_at: MIDNIGHT + time + 1_000 }, MIDNIGHT + time),
      );
      await records.foldInto(store, given);
      for (const time of times) {
        const created = new Date(MIDNIGHT + time).toISOString();
        const queries = [{ created_from: created }, { created_to: created }, { state: 'lapsed' }];
        for (const query of queries.map((filter) => ({ ...filter, limit: 1 }))) {
          const now = MIDNIGHT + time + 1_000;
          expect(await records.readLeads(readModels, query, { at: now })).toEqual(
            records.scannedLeads(given, query, now),
          );
        }
      }
      await close();
    });

    test('The pages of outreach requests by owner and status are those of a scan', async () => {
      const queries = fc.array(fc.tuple(requests.requestQuery, at), {
        minLength: QUERIES,
        maxLength: QUERIES,
      });
      await fc.assert(
        fc.asyncProperty(requests.requestHistory, queries, async (given, each) => {
          const { store, readModels, close } = await open();
          await records.foldInto(store, given);
          for (const [query, now] of each)
            if (!requests.isRefused(query))
              expect(await requests.readRequests(readModels, query, { at: now })).toEqual(
                requests.scannedRequests(given, query, now),
              );
          await close();
        }),
        { numRuns },
      );
    });
  });
};
