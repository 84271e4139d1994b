package auth_test

import (
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"hash"
	"maps"
	"strings"
	"testing"
	"time"

	"tracker/server/web"
	"tracker/server/web/auth"
	"tracker/store/domain"
)

type object map[string]any

// with returns a copy of o in which name is set to v, or removed if v is nil.
func (o object) with(name string, v any) object {
	c := maps.Clone(o)
	if c[name] = v; v == nil {
		delete(c, name)
	}
	return c
}

func part(o object) string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// forge creates a token by hand, independently of the library under test.
func forge(algorithm string, payload object, h func() hash.Hash, key string) string {
	text := part(object{"alg": algorithm, "typ": "JWT"}) + "." + part(payload)
	mac := hmac.New(h, []byte(key))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (f fixture) payload() object {
	now := f.clock.Now().Unix()
	return object{"sub": f.ada.ID, "username": "ada", "iss": "tracker", "iat": now, "exp": now + 3600}
}

func TestTokenHoldsTheClaimsOfTheContract(t *testing.T) {
	f := newFixture(t, true)
	g, err := f.SignIn(t.Context(), "ada", password, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	expires := f.clock.Now().Add(24 * time.Hour).Unix()
	if g.TokenType != "Bearer" || g.ExpiresAt != expires || g.User != f.ada {
		t.Errorf("the grant is %+v", g)
	}
	parts := strings.Split(g.AccessToken, ".")
	if len(parts) != 3 {
		t.Fatalf("%q has not three parts", g.AccessToken)
	}
	wants := []object{
		{"alg": "HS256", "typ": "JWT"},
		{"sub": f.ada.ID, "username": "ada", "iss": "tracker",
			"iat": float64(f.clock.Now().Unix()), "exp": float64(expires)},
	}
	for i, want := range wants {
		b, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		var got object
		if err := json.Unmarshal(b, &got); err != nil || !maps.Equal(got, want) {
			t.Errorf("part %d is %s, want %v", i, b, want)
		}
	}
	// Another program with the secret would compute the same signature.
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); parts[2] != want {
		t.Errorf("the signature is %s, want %s", parts[2], want)
	}
}

func TestTokenExpires(t *testing.T) {
	f := newFixture(t, true)
	day := f.token(t)
	month, err := f.Grant(f.ada, 720*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		advance    time.Duration
		day, month domain.Code
	}{
		{0, "", ""},
		{24*time.Hour - time.Second, "", ""},
		{time.Second, web.CodeTokenExpired, ""},
		{time.Hour, web.CodeTokenExpired, ""},
		{695 * time.Hour, web.CodeTokenExpired, web.CodeTokenExpired},
	}
	for _, s := range steps {
		f.clock.advance(s.advance)
		_, err := f.asked(t, "Bearer "+day)
		wantCode(t, err, s.day)
		_, err = f.asked(t, "Bearer "+month.AccessToken)
		wantCode(t, err, s.month)
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	f := newFixture(t, true)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	good, now := f.payload(), f.clock.Now().Unix()
	own := func(o object) string { return forge("HS256", o, sha256.New, secret) }
	if u, err := f.asked(t, "Bearer "+own(good)); err != nil || u != f.ada {
		t.Fatalf("a forged token with the right secret gives %v, %v: the table below proves nothing", u, err)
	}
	signed := part(object{"alg": "RS256", "typ": "JWT"}) + "." + part(good)
	digest := sha256.Sum256([]byte(signed))
	rs, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	none := func(alg string) string { return part(object{"alg": alg, "typ": "JWT"}) + "." + part(good) + "." }
	deleted := f.user(t, "gone")
	if err := f.db.Users.DeleteUser(t.Context(), domain.System, deleted.ID); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(own(good), ".")

	invalid, expired := web.CodeTokenInvalid, web.CodeTokenExpired
	tests := []struct {
		name  string
		token string
		want  domain.Code
	}{
		{"expired", own(good.with("exp", now-1)), expired},
		{"expired now", own(good.with("exp", now)), expired},
		{"expired and foreign", forge("HS256", good.with("exp", now-1), sha256.New, "another secret"), invalid},
		{"not yet", own(good.with("nbf", now+60)), invalid},
		{"foreign", forge("HS256", good, sha256.New, "another secret"), invalid},
		{"empty secret", forge("HS256", good, sha256.New, ""), invalid},
		{"default secret", forge("HS256", good, sha256.New, auth.DefaultSecret), invalid},
		{"none", none("none"), invalid},
		{"None", none("None"), invalid},
		{"no algorithm", part(object{"typ": "JWT"}) + "." + part(good) + ".", invalid},
		{"none with a true signature", none("none") + parts[2], invalid},
		{"HS384", forge("HS384", good, sha512.New384, secret), invalid},
		{"HS512", forge("HS512", good, sha512.New, secret), invalid},
		{"HS512 in name only", forge("HS512", good, sha256.New, secret), invalid},
		{"hs256", forge("hs256", good, sha256.New, secret), invalid},
		{"RS256", signed + "." + base64.RawURLEncoding.EncodeToString(rs), invalid},
		{"RS256 over the secret", forge("RS256", good, sha256.New, secret), invalid},
		{"public key as the secret", forge("HS256", good, sha256.New, publicPEM), invalid},
		{"wrong issuer", own(good.with("iss", "elsewhere")), invalid},
		{"no issuer", own(good.with("iss", nil)), invalid},
		{"no exp", own(good.with("exp", nil)), invalid},
		{"exp in words", own(good.with("exp", "tomorrow")), invalid},
		{"no sub", own(good.with("sub", nil)), invalid},
		{"empty sub", own(good.with("sub", "")), invalid},
		{"sub is a number", own(good.with("sub", 1)), invalid},
		{"sub is nobody", own(good.with("sub", "01a1fd2c-e766-7010-bd7b-29092e416788")), invalid},
		{"sub is a name", own(good.with("sub", "ada")), invalid},
		{"sub was deleted", own(good.with("sub", deleted.ID).with("username", "gone")), invalid},
		{"payload of another token", parts[0] + "." + part(good.with("sub", deleted.ID)) + "." + parts[2], invalid},
		{"no signature", parts[0] + "." + parts[1] + ".", invalid},
		{"two parts", parts[0] + "." + parts[1], invalid},
		{"four parts", own(good) + "." + parts[2], invalid},
		{"padded", own(good) + "=", invalid},
		{"two dots", "..", invalid},
		{"one dot", ".", invalid},
		{"not base64", "!.!.!", invalid},
		{"inner space", parts[0] + ". " + parts[1] + "." + parts[2], invalid},
		{"two tokens", own(good) + " " + own(good), invalid},
		{"NUL", own(good) + "\x00", invalid},
		{"huge", strings.Repeat("A", 8<<20), invalid},
		{"huge signature", parts[0] + "." + parts[1] + "." + strings.Repeat("A", 8<<20), invalid},
		{"many dots", strings.Repeat(".", 8<<20), invalid},
		{"a list", part(object{"alg": "HS256"}) + "." + base64.RawURLEncoding.EncodeToString([]byte("[1]")) + ".AAAA", invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := f.asked(t, "Bearer "+tt.token)
			wantCode(t, err, tt.want)
			if u != (domain.User{}) {
				t.Errorf("it stands for %+v", u)
			}
		})
	}
}

func TestTokenCutOrChangedAnywhereIsInvalid(t *testing.T) {
	f := newFixture(t, true)
	token := []byte(f.token(t))
	for i := range token {
		if i > 0 {
			if _, err := f.asked(t, "Bearer "+string(token[:i])); web.AsError(err) == nil || web.AsError(err).Code != web.CodeTokenInvalid {
				t.Errorf("the first %d characters give %v", i, err)
			}
		}
		changed := bytes.Clone(token)
		// At the end of a part, a lenient decoder ignores the last bits of a character. The
		// replacement therefore also differs in other bits.
		changed[i] = 'A'
		if token[i] == 'A' {
			changed[i] = 'B'
		}
		for _, c := range []byte{changed[i], token[i] ^ 1} {
			changed[i] = c
			if _, err := f.asked(t, "Bearer "+string(changed)); web.AsError(err) == nil || web.AsError(err).Code != web.CodeTokenInvalid {
				t.Errorf("character %d as %q gives %v", i, c, err)
			}
		}
	}
}

func TestAuthorizationHeader(t *testing.T) {
	f := newFixture(t, true)
	token := f.token(t)
	missing, invalid := web.CodeTokenMissing, web.CodeTokenInvalid
	tests := []struct {
		header string
		want   domain.Code
	}{
		{"Bearer " + token, ""},
		{"bearer " + token, ""},
		{"BEARER " + token, ""},
		{"Bearer  " + token, ""},
		{"Bearer " + token + "  ", ""},
		{"", missing},
		{" ", missing},
		{"Bearer", missing},
		{token, missing},
		{"Basic " + base64.StdEncoding.EncodeToString([]byte("ada:"+password)), missing},
		{"Bearer:" + token, missing},
		{"Token " + token, missing},
		{"Bearer ", invalid},
		{"Bearer Bearer " + token, invalid},
		{"Bearer \"" + token + "\"", invalid},
		{"Bearer " + token + ", Bearer " + token, invalid},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			u, err := f.asked(t, tt.header)
			wantCode(t, err, tt.want)
			if (u == f.ada) != (tt.want == "") {
				t.Errorf("it stands for %+v", u)
			}
		})
	}
}
