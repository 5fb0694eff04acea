package config

// QuotaSettings bound what one principal may take, so that the others keep theirs.
type QuotaSettings struct {
	Share         int `name:"principal-pool" help:"Requests of one principal answered at once while others ask as well; 0: half as many as there are processors." default:"0" env:"SATCHEL_PRINCIPAL_POOL" min:"0" max:"65536"`
	Connections   int `name:"principal-connections" help:"Connections to the embedded NATS of one principal; all clients without a key have eight times as many." default:"64" env:"SATCHEL_PRINCIPAL_CONNECTIONS" min:"1" max:"65536"`
	Subscriptions int `name:"principal-subscriptions" help:"Subscriptions of one such connection." default:"512" env:"SATCHEL_PRINCIPAL_SUBSCRIPTIONS" min:"16" max:"1000000"`
	EventRate     int `name:"principal-events" help:"Events a minute that one principal may put, and at once." default:"60000" env:"SATCHEL_PRINCIPAL_EVENTS" min:"1" max:"1000000000"`
	ByteRate      int `name:"principal-mb" help:"MiB a minute that one principal may put, and at once." default:"256" env:"SATCHEL_PRINCIPAL_MB" min:"1" max:"1048576"`
}
