package runs

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// Adjectives and Nouns are the words in random names.
var (
	Adjectives = strings.Fields(`amber ample azure bold brave brief bright brisk calm candid civil clean clear clever
		cosmic crisp dapper daring deep deft eager early earnest easy fair fast fine fleet fond frank fresh gentle
		glad golden grand happy hardy honest humble jolly keen kind level light lively lucid lucky mellow merry mild
		modest neat nimble noble patient placid plain polite proud quick quiet ready rustic sandy serene sharp silent
		silver smart snowy sober solid steady stout sunny supple sure swift tender tidy tranquil trusty upbeat vivid
		warm wise witty`)
	Nouns = strings.Fields(`acorn alder anchor aspen badger basin beacon birch bison brook canyon cedar cliff clover
		comet coral cove crane creek curlew dale delta dune eagle ember falcon fern finch fjord forest fox garnet
		glacier glade grove gull harbor hare hawk hazel heron hill ibis iris island jay juniper kestrel lagoon lake
		larch lark ledge lichen linnet lynx maple marten meadow mesa moss oak orchid osprey otter owl pebble pine
		plover pond poplar prairie quail raven reef ridge river robin rowan sage shore sparrow spruce stone summit
		swan tern thistle tide tundra valley wren willow`)
)

// randomName returns a short, readable, random name. If attempt is not 0, the name ends with a
// random number. The range of the number grows with attempt, so a free name is found quickly even
// if many names are used.
func randomName(attempt int) string {
	name := Adjectives[rand.IntN(len(Adjectives))] + "-" + Nouns[rand.IntN(len(Nouns))]
	if attempt == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(2+rand.IntN(98*attempt))
}
