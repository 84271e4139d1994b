package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tracker/client/rest"
)

func (a *app) shareCommand() *cobra.Command {
	p := api{app: a}
	var read, write, owner, remove bool
	cmd := &cobra.Command{
		Use:     "share PROJECT [USER]",
		GroupID: groupAccounts,
		Short:   "List the members of a project, or share it",
		Long: `List the members of a project with their rights, or give a user rights in it, or take them.
PROJECT is a name. Only owners of the project and admins can share it. --read permits
reading, --write also creating and changing, and --owner also deleting and sharing. The rights
replace earlier rights of the user in the project.`,
		Example: `  tracker share vision
  tracker share vision bob --read
  tracker share vision bob --remove`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, set := range []bool{read, write, owner, remove} {
				if set {
					given++
				}
			}
			if len(args) == 2 && given != 1 || len(args) == 1 && given > 0 {
				return misuse("name a USER together with one of --read, --write, --owner and --remove")
			}
			ctx := cmd.Context()
			c, err := p.client()
			if err != nil {
				return err
			}
			project, err := c.Project(ctx, args[0])
			if err != nil {
				return err
			}
			if len(args) == 2 && !remove {
				rights := rest.Rights{Read: true, Create: write || owner, Update: write || owner, Delete: owner, Owner: owner}
				return c.Share(ctx, project.ID, args[1], rights)
			}
			members, err := c.Members(ctx, project.ID, maxListed)
			if err != nil {
				return err
			}
			if remove {
				for _, m := range members {
					if m.Username == args[1] {
						return c.Unshare(ctx, m.ID)
					}
				}
				return fmt.Errorf("%s has no rights in the project %s", clip(args[1], 60), clip(project.Name, 60))
			}
			if p.asJSON {
				return a.printJSON(members)
			}
			for _, m := range members {
				if _, err := fmt.Fprintf(a.stdout, "%s  %s\n", clip(m.Username, 60), memberRights(m)); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	p.flags(cmd)
	cmd.Flags().BoolVar(&read, "read", false, "permit reading")
	cmd.Flags().BoolVar(&write, "write", false, "permit reading, creating and changing")
	cmd.Flags().BoolVar(&owner, "owner", false, "permit everything, also sharing")
	cmd.Flags().BoolVar(&remove, "remove", false, "take all rights")
	return cmd
}

// memberRights returns the rights of a member, separated by spaces.
func memberRights(m rest.Member) string {
	var all []string
	for _, r := range []struct {
		has  bool
		name string
	}{{m.Read, "read"}, {m.Create, "create"}, {m.Update, "update"}, {m.Delete, "delete"}, {m.Owner, "owner"}} {
		if r.has {
			all = append(all, r.name)
		}
	}
	return strings.Join(all, " ")
}
