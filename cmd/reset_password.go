package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

func (a *app) resetPasswordCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset-password [USER]",
		GroupID: groupAccounts,
		Short:   "Set a new password for an account",
		Long: `Set a new password for an account, by default for the admin "default". On a terminal the
command asks for the password twice; otherwise it reads one line of standard input. The
password must have 8 to 72 bytes. A running server uses it at once. Tokens issued earlier stay
valid until they expire.`,
		Example: `  tracker reset-password
  tracker reset-password ada
  openssl rand -base64 18 | tee admin.password | tracker reset-password`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeUser,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			name := users.DefaultUsername
			if len(args) == 1 {
				name = args[0]
			}
			return a.withUser(cmd, name, func(db *store.DB, u domain.User) error {
				password, err := a.newPassword(cmd.Context(), name, false)
				if err != nil {
					return err
				}
				if err := db.Users.UpdateUser(cmd.Context(), domain.System, u.ID, users.UserPatch{Password: &password}); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "The password of %s is changed.\n", name)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	return cmd
}
