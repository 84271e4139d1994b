package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tracker/server/auth"
	"tracker/store"
)

func (a *app) tokenCommand() *cobra.Command {
	var username string
	lifetime := span(auth.Lifetime)
	cmd := &cobra.Command{
		Use:     "token --user NAME",
		GroupID: groupAccounts,
		Short:   "Make a token, for example for a job on a cluster",
		Long: `Make a token for an account and print nothing else. It is like one of a sign-in, but is
good for as long as you say, and is signed with the SERVICE_JWT_SECRET of the settings,
which must be the server's. It can't be taken back: it is good until it expires, or
until the account is deleted or the secret changes.`,
		Example: `  tracker token --user robot --expires 30d
  export TRACKER_TOKEN=$(tracker token --user ada --expires 8h --env-file /etc/tracker.env)`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			if lifetime <= 0 {
				return misuse("--expires must be a time like 12h or 30d that is longer than nothing")
			}
			cfg, err := a.load(cmd)
			if err != nil {
				return err
			}
			if weakSecret(cfg.JWTSecret) {
				return errors.New("a token is worth nothing without the server's secret: give it as SERVICE_JWT_SECRET")
			}
			for _, w := range shortSecret(cfg.JWTSecret) {
				a.warn("%s", w)
			}
			return a.withUser(cmd, username, func(db *store.DB, u store.User) error {
				grant, err := auth.New(db, auth.Options{Enabled: true, Secret: cfg.JWTSecret}).Grant(u, time.Duration(lifetime))
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(a.stdout, grant.AccessToken)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE", "SERVICE_JWT_SECRET")
	cmd.Flags().StringVar(&username, "user", "", "`name` of the account")
	cmd.Flags().Var(&lifetime, "expires", "how long the token is good, a `time` like 12h or 30d")
	// Both fail for a flag that does not exist only.
	_ = cmd.MarkFlagRequired("user")
	_ = cmd.RegisterFlagCompletionFunc("user", a.completeUser)
	return cmd
}
