// Calls each operation with the client that Kiota generates, and reads a problem. Prints the id of each operation.
using System.Net.Http.Headers;
using Microsoft.Kiota.Abstractions;
using Microsoft.Kiota.Abstractions.Authentication;
using Microsoft.Kiota.Http.HttpClientLibrary;
using Tributary;
using Tributary.Models;

// Kiota's own providers of credentials send none over http.
var http = new HttpClient();
http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", args[1]);
var adapter = new HttpClientRequestAdapter(new AnonymousAuthenticationProvider(), httpClient: http) { BaseUrl = args[0] };
var api = new TributaryClient(adapter).Api.Affiliate.V1;
string Key() => Guid.NewGuid().ToString();
void Keyed(RequestConfiguration<DefaultQueryParameters> it) => it.Headers.Add("Idempotency-Key", Key());
void Print(string id, bool isRead) => Console.WriteLine(isRead ? id : $"{id} is not read");

Print("getConnection", (await api.Connection.GetAsync()).GrantedScopes.Count > 0);
var found = await api.Products.GetAsync(it =>
{
    it.QueryParameters.Q = "mug";
    it.QueryParameters.FacetsAsFacet = [Facet.Category, Facet.Stock];
    it.QueryParameters.Limit = 1;
});
Print("searchProducts", found.Data.Count == 1 && found.AsOf.Position > 0);
var target = new CreateLinkInput_target { Kind = CreateLinkInput_target_kind.Product, Ref = "MUG-1" };
Print("createLink", (await api.Links.PostAsync(new() { Target = target }, Keyed)).ShortUrl != null);
var handoff = new CreateHandoffInput { Title = "Mugs", LineItems = [new() { Sku = "MUG-1", Quantity = 4 }] };
Print("createHandoff", (await api.Handoffs.PostAsync(handoff, Keyed)).ReviewUrl != null);
var company = new SubmitLeadInput_company { Name = "Kiota's shop", Country = "GB" };
var lead = await api.Leads.PostAsync(new() { ExternalId = Key(), Company = company }, Keyed);
Print("submitLead", lead.State == Lead_state.Submitted && lead.Version != null);
Print("listLeads", (await api.Leads.GetAsync(it => it.QueryParameters.Limit = 5)).Data.Count > 0);
var report = await api.Performance.GetAsync(it => it.QueryParameters.GroupByAsDimension = [Dimension.Campaign]);
Print("getPerformance", report.AsOf.Position > 0);
try
{
    var nowhere = new CreateLinkInput_target { Kind = CreateLinkInput_target_kind.Product, Ref = "NONE" };
    await api.Links.PostAsync(new() { Target = nowhere }, Keyed);
}
catch (Problem refused)
{
    Print("problem", refused.Code == Problem_code.Link_target_invalid && refused.Message == refused.Detail);
}
