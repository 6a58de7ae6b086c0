/** Roles in words. */

const LIST = new Intl.ListFormat('en', { style: 'long', type: 'conjunction' });

/** What a person does: `staff and operator`, or `owner of northwind`. */
export const rolesText = ({
  roles,
  owners,
}: {
  roles: readonly string[];
  owners: readonly string[];
}): string => (owners.length > 0 ? `owner of ${LIST.format(owners)}` : LIST.format(roles));
