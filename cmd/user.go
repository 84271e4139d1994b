package cmd

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tracker/store"
	"tracker/store/domain"
	"tracker/store/users"
)

func (a *app) userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "user",
		GroupID: groupAccounts,
		Short:   "List, add, change and delete accounts",
		Long: `List, add, change and delete accounts. These commands work on the database file, even while
a server runs.`,
		Example: `  tracker user add ada --first-name Ada --last-name Lovelace
  tracker user list
  tracker user set ada --admin
  tracker user delete ada`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return misuse(fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()))
		},
	}
	cmd.AddCommand(a.userAddCommand(), a.userListCommand(), a.userSetCommand(), a.userDeleteCommand())
	return cmd
}

func (a *app) userAddCommand() *cobra.Command {
	var u users.NewUser
	var asLine bool
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Create an account",
		Long: `Create an account. On a terminal the command asks for the password twice; otherwise it reads
one line of standard input. The password must have 8 to 72 bytes.`,
		Example: `  tracker user add ada --first-name Ada --last-name Lovelace
  tracker user add root --admin
  openssl rand -base64 18 | tee robot.password | tracker user add robot --password-stdin`,
		Args:              one("NAME"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(db *store.DB) error {
				u.Username = args[0]
				var err error
				if u.Password, err = a.newPassword(cmd.Context(), u.Username, asLine); err != nil {
					return err
				}
				if _, err := db.Users.CreateUser(cmd.Context(), domain.System, u); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "Created the account %s.\n", u.Username)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&u.IsAdmin, "admin", false, "give all rights in all projects")
	cmd.Flags().StringVar(&u.FirstName, "first-name", "", "first `name`")
	cmd.Flags().StringVar(&u.LastName, "last-name", "", "last `name`")
	cmd.Flags().BoolVar(&asLine, "password-stdin", false, "read the password as one line of standard input")
	return cmd
}

func (a *app) userListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the accounts",
		Example: `  tracker user list
  tracker user list --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(db *store.DB) error {
				users, err := allUsers(cmd.Context(), db)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(users)
				}
				return a.printUsers(users)
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func allUsers(ctx context.Context, db *store.DB) ([]domain.User, error) {
	all := []domain.User{}
	for {
		l, err := db.Users.Users(ctx, domain.System, domain.Page{Limit: domain.MaxLimit, Offset: len(all)})
		if err != nil {
			return nil, err
		}
		all = append(all, l.Data...)
		if len(l.Data) == 0 || len(all) >= l.Total {
			return all, nil
		}
	}
}

func (a *app) printUsers(users []domain.User) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tADMIN\tFIRST NAME\tLAST NAME\tCREATED")
	for _, u := range users {
		admin := "no"
		if u.IsAdmin {
			admin = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", u.Username, admin, u.FirstName, u.LastName, u.CreatedDate)
	}
	return w.Flush()
}

func (a *app) userSetCommand() *cobra.Command {
	var first, last string
	var admin bool
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Change an account",
		Long: `Change an account. Only the values given as flags are changed. To change a password, use
` + "`tracker reset-password`" + `.`,
		Example: `  tracker user set ada --admin
  tracker user set ada --admin=false
  tracker user set ada --last-name King`,
		Args:              one("NAME"),
		ValidArgsFunction: a.completeUser,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			var p users.UserPatch
			if cmd.Flags().Changed("first-name") {
				p.FirstName = &first
			}
			if cmd.Flags().Changed("last-name") {
				p.LastName = &last
			}
			if cmd.Flags().Changed("admin") {
				p.IsAdmin = &admin
			}
			if p.FirstName == nil && p.LastName == nil && p.IsAdmin == nil {
				return misuse("there is nothing to change: give --admin, --first-name or --last-name")
			}
			return a.withUser(cmd, args[0], func(db *store.DB, u domain.User) error {
				if err := db.Users.UpdateUser(cmd.Context(), domain.System, u.ID, p); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.stdout, "The account %s is changed.\n", u.Username)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&admin, "admin", false, "give all rights in all projects; --admin=false revokes them")
	cmd.Flags().StringVar(&first, "first-name", "", "first `name`")
	cmd.Flags().StringVar(&last, "last-name", "", "last `name`")
	return cmd
}

func (a *app) userDeleteCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete an account",
		Long: `Delete an account and its permissions. All data that the user has logged stays. On a
terminal the command asks for confirmation; elsewhere it needs --yes.`,
		Example: `  tracker user delete ada
  tracker user delete robot --yes`,
		Args:              one("NAME"),
		ValidArgsFunction: a.completeUser,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			_, asks := a.terminal()
			if !yes && !asks {
				return misuse("deleting an account without a terminal needs confirmation: use --yes")
			}
			return a.withUser(cmd, args[0], func(db *store.DB, u domain.User) error {
				if !yes {
					sure, err := a.confirm(cmd.Context(), fmt.Sprintf("Delete the account %s and its permissions?", u.Username))
					if err != nil {
						return err
					}
					if !sure {
						return errors.New("nothing was deleted")
					}
				}
				if err := db.Users.DeleteUser(cmd.Context(), domain.System, u.ID); err != nil {
					return err
				}
				_, err := fmt.Fprintf(a.stdout, "The account %s is deleted.\n", u.Username)
				return err
			})
		}),
	}
	addSettings(cmd, "SERVICE_DB_FILE")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// withUser calls fn with the database and the account that has the given username.
func (a *app) withUser(cmd *cobra.Command, username string, fn func(*store.DB, domain.User) error) error {
	return a.withDB(cmd, func(db *store.DB) error {
		u, err := db.Users.UserByName(cmd.Context(), domain.System, username)
		if err != nil {
			if domain.AsError(err).Code == domain.CodeNotFound {
				err = fmt.Errorf("there is no user %q in %s; `tracker user list` lists them", username, db.Path())
			}
			return err
		}
		return fn(db, u)
	})
}

// completeUser returns the usernames for shell completion.
func (a *app) completeUser(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var names []cobra.Completion
	if len(args) > 0 {
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	values, _, err := a.readSettings(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	cfg, _ := parse(values)
	err = a.withDBOf(cmd.Context(), cfg, func(db *store.DB) error {
		users, err := allUsers(cmd.Context(), db)
		for _, u := range users {
			names = append(names, u.Username)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
