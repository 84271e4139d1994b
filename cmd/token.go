package cmd

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tracker/server/web/auth"
	"tracker/store"
	"tracker/store/domain"
	"tracker/store/scalar"
	"tracker/store/users"
)

func (a *app) tokenCommand() *cobra.Command {
	var username string
	var key bool
	var name, scope, project string
	lifetime := span(auth.Lifetime)
	cmd := &cobra.Command{
		Use:     "token --user NAME",
		GroupID: groupAccounts,
		Short:   "Issue a token or an API key, for example for a job on a cluster",
		Long: `Print a token for an account and nothing else. The token is like the token of a sign-in, but
with a lifetime of your choice. It is signed with SERVICE_JWT_SECRET, which must be the same
as the server's. It can't be revoked: it is valid until it expires, the account is deleted, or
the secret changes.

With --wandb, the command prints an API key instead, with 40 characters as W&B's clients
require. A key needs no secret and can be revoked on the account's page. It expires only if
--expires is given. --scope and --project limit it: "read" permits only reading, and "log" only
logging, without reading the runs of others.`,
		Example: `  tracker token --user robot --expires 30d
  export WANDB_API_KEY=$(tracker token --user ada --wandb --name cluster)
  tracker token --user ada --wandb --name job --scope log --project vision --expires 30d
  export TRACKER_TOKEN=$(tracker token --user ada --expires 8h --env-file /etc/tracker.env)`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if lifetime <= 0 {
				return misuse("--expires must be longer than 0, like 12h or 30d")
			}
			if !key && (cmd.Flags().Changed("scope") || cmd.Flags().Changed("project")) {
				return misuse("only a key can be limited; add --wandb")
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			if key {
				return a.withUser(cmd, username, func(db *store.DB, u domain.User) error {
					n := users.NewAPIKey{Name: name, Scope: new(users.KeyScope(scope))}
					if cmd.Flags().Changed("expires") {
						n.ExpiresDate = new(scalar.TimeOf(time.Now().Add(time.Duration(lifetime))))
					}
					if project != "" {
						id, err := db.Projects.ProjectNamed(cmd.Context(), domain.Actor{UserID: u.ID}, project)
						if err != nil {
							return err
						}
						n.ProjectID = &id
					}
					made, err := db.Users.CreateAPIKey(cmd.Context(), domain.System, u.ID, n)
					if err != nil {
						return err
					}
					_, err = fmt.Fprintln(a.stdout, made.Key)
					return err
				})
			}
			if weakSecret(cfg.JWTSecret) {
				return fmt.Errorf("a token must be signed with the server's secret: give it, of %d characters or more, as SERVICE_JWT_SECRET, or run this in the folder whose .env has it", auth.MinSecret)
			}
			for _, w := range shortSecret(cfg.JWTSecret) {
				a.warn("%s", w)
			}
			return a.withUser(cmd, username, func(db *store.DB, u domain.User) error {
				grant, err := auth.New(db, auth.Options{Enabled: true, Secret: cfg.JWTSecret}).Grant(u, time.Duration(lifetime))
				if err != nil {
					return err
				}
				db.Audit.Note(cmd.Context(), domain.System, domain.Event{Action: domain.ActionCreate, Kind: domain.AuditToken,
					Name: "token of " + u.Username, Detail: "valid for " + time.Duration(lifetime).String()})
				_, err = fmt.Fprintln(a.stdout, grant.AccessToken)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE", "SERVICE_JWT_SECRET")
	cmd.Flags().StringVar(&username, "user", "", "`name` of the account")
	cmd.Flags().Var(&lifetime, "expires", "lifetime of the token or key, a `time` like 12h or 30d")
	cmd.Flags().BoolVar(&key, "wandb", false, "create an API key, for W&B's clients and others")
	cmd.Flags().StringVar(&scope, "scope", string(users.KeyAll), "`use` of the key: all, read or log")
	cmd.Flags().StringVar(&project, "project", "", "limit the key to the project with this `name` or id")
	cmd.Flags().StringVar(&name, "name", "command line", "`name` of the key")
	// These calls return an error only if the flag does not exist.
	_ = cmd.MarkFlagRequired("user")
	_ = cmd.RegisterFlagCompletionFunc("user", a.completeUser)
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"all", "read", "log"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
