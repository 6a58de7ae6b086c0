/** Walks the texts that the contract accepts: of every operation, and of the forms that holders of links enter. */
import type { z } from 'zod';
import { agentOperations } from '#contracts/registries/agents.ts';
import { deskOperations } from '#contracts/registries/desk.ts';
import { buyerContact, declineReason, quotationQuestion } from '#contracts/handoffs/operations.ts';
import { holderOperations } from '#contracts/registries/holders.ts';
import { taskOperations } from '#contracts/tasks/operations.ts';
import { attributionQuestion } from '#contracts/tasks/skills.ts';

type Schema = z.core.$ZodType;
export type InputText = {
  /** The operation and the pointer to the field: `createLink /campaign`. A list has one item, `-`. */
  at: string;
  /** Of the text alone. */
  schema: z.ZodType<string>;
  operation: { id: string; kind: 'query' | 'command'; auditsInput?: boolean };
};

const textsIn = (schema: Schema, path = ''): [string, z.ZodType<string>][] => {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'string':
      return [[path, schema as z.ZodType<string>]];
    case 'object':
      return Object.entries(def.shape).flatMap(([name, of]) => textsIn(of, `${path}/${name}`));
    case 'array':
      return textsIn(def.element, `${path}/-`);
    case 'record':
      return textsIn(def.valueType, `${path}/-`);
    case 'union':
      return def.options.flatMap((one) => textsIn(one, path));
    case 'pipe':
      // A text that is normalized first and checked then is one text.
      return def.in._zod.def.type === 'string' && def.out._zod.def.type !== 'transform'
        ? [[path, schema as z.ZodType<string>]]
        : textsIn(def.in, path);
    case 'optional':
    case 'nullable':
    case 'default':
      return textsIn(def.innerType, path);
    default:
      return [];
  }
};

type Operation = { id: string; kind: 'query' | 'command'; input: Schema; auditsInput?: boolean };

/** Texts that an operation of a holder hands to a form of the contract, which checks them. */
const FORMS: Record<string, Schema> = {
  'submitRfq /contact': buyerContact,
  'declineHandoff /reason': declineReason,
  'declineQuotation /reason': declineReason,
  'askAboutQuotation /text': quotationQuestion,
};
const formOf = (at: string) => Object.keys(FORMS).find((form) => at.startsWith(form));

/** Every text of the input of every operation of agents, desk and holders, once each. */
export const inputTexts = (): InputText[] => {
  const registries: Record<string, Operation>[] = [
    agentOperations,
    deskOperations,
    holderOperations,
    taskOperations,
  ];
  const operations = registries.flatMap((registry) => Object.values(registry));
  const direct = operations.flatMap((operation) =>
    textsIn(operation.input).map(([path, schema]) => ({
      at: `${operation.id} ${path}`,
      schema,
      operation,
    })),
  );
  const entered = Object.entries(FORMS).flatMap(([form, of]) => {
    const [id = '', path = ''] = form.split(' ');
    return textsIn(of).map(([rest, schema]) => ({
      at: `${id} ${path}${rest}`,
      schema,
      operation: { id, kind: 'command' as const },
    }));
  });
  const question = textsIn(attributionQuestion).map(([path, schema]) => ({
    at: `a2a:attribution_question ${path}`,
    schema,
    operation: { id: 'a2a:attribution_question', kind: 'query' as const },
  }));
  const all = [...direct.filter(({ at }) => formOf(at) === undefined), ...entered, ...question];
  return [...new Map(all.map((one) => [one.at, one])).values()];
};
