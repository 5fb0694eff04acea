package config

// OIDCSettings say whose JSON Web Tokens the gateway takes.
type OIDCSettings struct {
	OIDCIssuer         string   `name:"oidc-issuer" help:"OpenID Connect issuer whose JSON Web Tokens the gateway takes, as https://login.example.com; empty: none." env:"SATCHEL_OIDC_ISSUER"`
	OIDCAudience       string   `name:"oidc-audience" help:"What their aud must name: the address of the gateway, as https://memory.example.com/mcp." env:"SATCHEL_OIDC_AUDIENCE"`
	OIDCTenantClaim    string   `name:"oidc-tenant-claim" help:"Claim that names the tenant; empty: all are of the tenant of the command." default:"satchel_tenant" env:"SATCHEL_OIDC_TENANT_CLAIM"`
	OIDCPrincipalClaim string   `name:"oidc-principal-claim" help:"Claim that names the principal." default:"sub" env:"SATCHEL_OIDC_PRINCIPAL_CLAIM"`
	OIDCClearance      string   `name:"oidc-clearance" help:"Clearance that each principal claims; a principal registry can only narrow it." default:"public" env:"SATCHEL_OIDC_CLEARANCE" enum:"public,internal,confidential,restricted"`
	OIDCAlgorithms     []string `name:"oidc-algorithms" help:"Algorithms of signatures, of RS256 to ES512, PS256 to PS512 and EdDSA." default:"RS256,ES256" env:"SATCHEL_OIDC_ALGORITHMS"`
	OIDCSkew           int      `name:"oidc-skew-s" help:"Seconds by which the issuer's clock may differ; 0: not at all." default:"60" env:"SATCHEL_OIDC_SKEW_S" min:"0" max:"300"`
	OIDCCA             string   `name:"oidc-ca" help:"PEM file of the certificates to trust of the issuer; empty: the system's." env:"SATCHEL_OIDC_CA" type:"path"`
}
